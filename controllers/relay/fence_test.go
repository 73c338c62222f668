// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

func TestFences(t *testing.T) {
	for name, tc := range map[string]struct {
		caller, want string
	}{
		"a deployer":               {"system:serviceaccount:east:helm", "namespace east"},
		"another of that fence":    {"system:serviceaccount:east:container", "namespace east"},
		"no ServiceAccount":        {"helm", "helm"},
		"a ServiceAccount no more": {"system:serviceaccount:east", "system:serviceaccount:east"},
		"an address":               {"address 2001:db8::7", "address 2001:db8::7"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, fenceOf(tc.caller)) })
	}
}

func TestCallersOfAFenceShareItsRoom(t *testing.T) {
	h := &Handler{room: memory.NewRoom(answersRoom, answersStep)}
	assert.True(t, h.claim("system:serviceaccount:east:helm").Fits(answersRoom/2))
	assert.False(t, h.claim("system:serviceaccount:east:container").Fits(answersStep))
	assert.True(t, h.claim("system:serviceaccount:west:helm").Fits(answersStep), "another fence")
}
