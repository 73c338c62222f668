// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"
)

func TestARegistryCannotFillTheMemoryWithTokens(t *testing.T) {
	c, nobody := newClient(t, nil), login{}.session(time.Now())
	long, host := strings.Repeat("t", 128<<10), "registry.example.com"
	const repositories = 1000
	for i := range repositories {
		_, err := c.tokens.of(nobody).Set(t.Context(), host, auth.SchemeBearer, strconv.Itoa(i), func(context.Context) (string, error) { return long, nil })
		require.NoError(t, err)
	}
	kept := 0
	for i := range repositories {
		if _, err := c.tokens.of(nobody).GetToken(t.Context(), host, auth.SchemeBearer, strconv.Itoa(i)); err == nil {
			kept++
		}
	}
	assert.NotZero(t, kept)
	assert.LessOrEqual(t, kept*len(long), rememberedTokens)
}
