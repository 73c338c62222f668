// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"fmt"
	"strings"
)

// parseOCIRef splits an OCI reference into repository and version: the digest, or else the tag. The host docker.io and its
// directory library, which are the defaults, are left out.
func parseOCIRef(ref string) ([2]string, error) {
	repository, version, found := strings.Cut(ref, "@")
	if found {
		repository, _, _ = cutTag(repository)
	} else {
		repository, version, found = cutTag(ref)
	}
	if !found || repository == "" || version == "" {
		return [2]string{}, fmt.Errorf("OCI reference %q has neither tag nor digest; write repository:tag or repository@digest", ref)
	}
	return [2]string{familiar(repository), version}, nil
}

func cutTag(ref string) (repository, tag string, found bool) {
	colon := strings.LastIndexByte(ref, ':')
	if colon < 0 || strings.Contains(ref[colon:], "/") {
		return ref, "", false
	}
	return ref[:colon], ref[colon+1:], true
}

func familiar(repository string) string {
	short := strings.TrimPrefix(strings.TrimPrefix(repository, "index.docker.io/"), "docker.io/")
	if name, ok := strings.CutPrefix(short, "library/"); ok && (short != repository || !strings.Contains(name, "/")) {
		return name
	}
	return short
}

func ociRefRepo(ref string) (string, error) {
	parts, err := parseOCIRef(ref)
	return parts[0], err
}

func ociRefVersion(ref string) (string, error) {
	parts, err := parseOCIRef(ref)
	return parts[1], err
}
