// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// choose returns the manifest of an index for the platform, "os/architecture" with or without "/variant". The only one is
// taken whatever it is for. Attestations, which builders mark with the platform unknown/unknown, do not count.
func choose(ref string, manifests []ocispec.Descriptor, platform string) (ocispec.Descriptor, error) {
	if platform == "" {
		platform = "linux/" + runtime.GOARCH
	}
	all := slices.DeleteFunc(slices.Clone(manifests), func(d ocispec.Descriptor) bool { return platformOf(d) == "unknown/unknown" })
	if len(all) == 1 {
		return all[0], nil
	}
	i := slices.IndexFunc(all, func(d ocispec.Descriptor) bool { return platformOf(d) == platform })
	if i < 0 {
		i = slices.IndexFunc(all, func(d ocispec.Descriptor) bool { return strings.HasPrefix(platformOf(d), platform+"/") })
	}
	if i < 0 {
		return ocispec.Descriptor{}, invalid(ref, fmt.Sprintf("it is an index of several artifacts, and none of them is for %.60s; there are %s", platform, platforms(all)),
			"name one of them by its digest, or push one for this platform")
	}
	return all[i], nil
}

// platformOf prints the platform of an entry of an index; empty if it has none.
func platformOf(d ocispec.Descriptor) string {
	if d.Platform == nil {
		return ""
	}
	name := d.Platform.OS + "/" + d.Platform.Architecture
	if d.Platform.Variant != "" {
		name += "/" + d.Platform.Variant
	}
	return name
}

func platforms(all []ocispec.Descriptor) string {
	var names []string
	for _, d := range all {
		if name := platformOf(d); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return fmt.Sprintf("%d without a platform", len(all))
	}
	return typeList(names)
}
