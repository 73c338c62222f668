// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func TestM08ImagesAreShownWithTheirDigest(t *testing.T) {
	manifest := map[string]any{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "ociArtifactDigest/v1", "value": "AB12"}
	blob := map[string]any{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": "ab12"}
	excluded := map[string]any{"hashAlgorithm": "NO-DIGEST", "normalisationAlgorithm": "EXCLUDE-FROM-SIGNATURE", "value": "NO-DIGEST"}
	for name, c := range map[string]struct {
		reference string
		digest    any
		want      string
	}{
		"tag":                          {"example.com/web:1.0.0", manifest, "example.com/web:1.0.0@sha256:ab12"},
		"neither tag nor digest":       {"example.com/web", manifest, "example.com/web@sha256:ab12"},
		"digest":                       {"example.com/web@sha256:cd", manifest, "example.com/web@sha256:cd"},
		"not covered":                  {"example.com/web:1.0.0", excluded, "example.com/web:1.0.0"},
		"digest of something else":     {"example.com/web:1.0.0", blob, "example.com/web:1.0.0"},
		"no digest at all":             {"example.com/web:1.0.0", nil, "example.com/web:1.0.0"},
		"digest that is not an object": {"example.com/web:1.0.0", "sha256:ab12", "example.com/web:1.0.0"},
		"access without a referece":    {"", manifest, ""},
	} {
		t.Run(name, func(t *testing.T) {
			resource := func() (map[string]any, map[string]any) {
				access := map[string]any{"type": "ociArtifact", "imageReference": c.reference}
				return map[string]any{"resources": []any{map[string]any{"access": access, "digest": c.digest}}}, access
			}
			v2, first := resource()
			v3, second := resource()
			listed, third := resource()
			component.PinImages(map[string]any{"component": v2}, []any{map[string]any{"spec": v3}},
				map[string]any{"components": []any{map[string]any{"component": listed}}})
			for _, access := range []map[string]any{first, second, third} {
				assert.Equal(t, c.want, access["imageReference"])
			}
		})
	}
}
