// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"
)

func TestARegistryCannotFillTheMemoryWithTokens(t *testing.T) {
	c, nobody := New(), "nobody"
	long, host := strings.Repeat("t", 128<<10), "registry.example.com"
	const repositories = 1000
	for i := range repositories {
		_, err := c.Of(nobody).Set(t.Context(), host, auth.SchemeBearer, strconv.Itoa(i), func(context.Context) (string, error) { return long, nil })
		require.NoError(t, err)
	}
	kept := 0
	for i := range repositories {
		if _, err := c.Of(nobody).GetToken(t.Context(), host, auth.SchemeBearer, strconv.Itoa(i)); err == nil {
			kept++
		}
	}
	assert.NotZero(t, kept)
	assert.LessOrEqual(t, kept*len(long), rememberedTokens)
}
