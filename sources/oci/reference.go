// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"strings"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
)

// Reference is an OCI reference taken apart.
type Reference struct {
	// Scheme is http or https where the reference says so, and empty otherwise.
	Scheme string
	// Host of the registry, with its port if any, and Path of the repository there.
	Host, Path string
	// Tag and Digest; either or both may be empty.
	Tag    string
	Digest digest.Digest
}

// ParseReference takes "host/path", with or without :tag, @digest and a scheme, apart. The error is a *fault.Error.
func ParseReference(ref string) (Reference, error) {
	scheme, rest := splitScheme(ref)
	at, err := registry.ParseReference(rest)
	if err != nil {
		return Reference{}, invalid(ref, "it is not an OCI reference", "write it as host/repository:tag or host/repository@sha256:digest")
	}
	out := Reference{Scheme: scheme, Host: at.Registry, Path: at.Repository, Tag: at.Reference}
	if d, err := at.Digest(); err == nil {
		name, _, _ := strings.Cut(rest, "@")
		_, out.Tag, _ = strings.Cut(strings.TrimPrefix(name, at.Registry+"/"+at.Repository), ":")
		out.Digest = d
	}
	if at.Reference = out.Tag; out.Tag != "" && at.ValidateReferenceAsTag() != nil {
		return Reference{}, invalid(ref, "its tag is none", "use letters, digits, dots, dashes and underscores, at most 128")
	}
	return out, nil
}

// Repository is the reference without tag and digest.
func (r Reference) Repository() string {
	if r.Scheme != "" {
		return r.Scheme + "://" + r.Host + "/" + r.Path
	}
	return r.Host + "/" + r.Path
}
