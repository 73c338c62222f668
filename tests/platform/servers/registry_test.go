// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRegistryPaths(t *testing.T) {
	for path, want := range map[string]RegistryRequest{
		"/v2/":                                   {},
		"/v2/shop/manifests/1.0.0":               {Repository: "shop", Kind: "manifests", Reference: "1.0.0"},
		"/v2/team/charts/web/blobs/sha256:abc":   {Repository: "team/charts/web", Kind: "blobs", Reference: "sha256:abc"},
		"/v2/shop/blobs/uploads/4711":            {Repository: "shop", Kind: "uploads", Reference: "4711"},
		"/v2/shop/tags/list":                     {Repository: "shop", Kind: "tags", Reference: "list"},
		"/v2/blobs/manifests/latest":             {Repository: "blobs", Kind: "manifests", Reference: "latest"},
		"/v2/shop/referrers/sha256:0123456789ab": {Repository: "shop", Kind: "referrers", Reference: "sha256:0123456789ab"},
	} {
		assert.Equal(t, want, parseRegistryPath(path), path)
	}
}

func FuzzRegistryPath(f *testing.F) {
	f.Add("/v2/shop/manifests/1.0.0")
	f.Add("/v2/shop/blobs/uploads/")
	f.Fuzz(func(t *testing.T, path string) {
		parsed := parseRegistryPath(path)
		assert.Contains(t, path, parsed.Repository)
		assert.Contains(t, path, parsed.Reference)
	})
}
