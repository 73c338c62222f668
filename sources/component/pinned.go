// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"strings"
)

// PinImages adds to the image references in views of descriptors, as View and ViewAll return them, the digests that the descriptors have for them.
// A signature covers the digest and not the tag: with both, what a template deploys is what was signed. References with a digest stay.
func PinImages(views ...any) {
	for _, view := range views {
		switch v := view.(type) {
		case []any:
			PinImages(v...)
		case map[string]any:
			if list, ok := v["components"].([]any); ok {
				PinImages(list...)
			}
			for _, body := range []string{"component", "spec"} {
				if b, ok := v[body].(map[string]any); ok {
					pinResources(b["resources"])
				}
			}
		}
	}
}

func pinResources(resources any) {
	list, _ := resources.([]any)
	for _, resource := range list {
		r, _ := resource.(map[string]any)
		access, _ := r["access"].(map[string]any)
		reference, _ := access["imageReference"].(string)
		digest := manifestDigest(r["digest"])
		if reference != "" && digest != "" && !strings.Contains(reference, "@") {
			access["imageReference"] = reference + "@" + digest
		}
	}
}

// manifestDigest returns the digest of a resource where it is that of a manifest in a registry.
func manifestDigest(digest any) string {
	fields, _ := digest.(map[string]any)
	value, _ := fields["value"].(string)
	if fields["normalisationAlgorithm"] != OCIArtifactDigest || value == "" {
		return ""
	}
	switch fields["hashAlgorithm"] {
	case HashSHA256:
		return "sha256:" + strings.ToLower(value)
	case HashSHA512:
		return "sha512:" + strings.ToLower(value)
	}
	return ""
}
