// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
)

// isArtifactSet reports whether a blob of this media type is an archive of an OCI artifact.
func isArtifactSet(mediaType string) bool {
	base, archive := strings.CutSuffix(strings.TrimSuffix(mediaType, "+gzip"), "+tar")
	if base == "application/vnd.ocm.software.oci.layout.v1" {
		return archive
	}
	switch strings.TrimSuffix(base, "+json") {
	case "application/vnd.oci.image.manifest.v1", "application/vnd.oci.image.index.v1",
		"application/vnd.docker.distribution.manifest.v2", "application/vnd.docker.distribution.manifest.list.v2":
		return archive
	}
	return false
}

// fromSet returns the layer of the artifact in an artifact set, which is extracted for it. What is extracted is not held by the session, since a
// template may ask for it any number of times.
func (r *Repositories) fromSet(ctx context.Context, set *stream, resource *component.Resource) (*stream, error) {
	want, err := set.expectSet(resource)
	if err != nil {
		return nil, err
	}
	tree, err := r.extract(ctx, set, "OCI artifact in resource "+resource.Name, want)
	if err != nil {
		return nil, err
	}
	return layerOfSet(tree, set, resource)
}

// expectSet compares the digest of a blob. One of an OCI artifact is compared with the manifest later.
func (f *stream) expectSet(resource *component.Resource) (digest.Digest, error) {
	if spec := resource.Digest; spec != nil && spec.NormalisationAlgorithm == component.OCIArtifactDigest {
		return f.digest, nil
	}
	return f.expect(resource)
}

func layerOfSet(tree *fetch.Tree, set *stream, resource *component.Resource) (*stream, error) {
	artifacts, err := formats.OpenArtifactSet(tree.FS())
	if err != nil {
		return nil, refused("artifact set", err)
	}
	m, at, err := artifacts.Manifest()
	if err != nil {
		return nil, refused("artifact set", err)
	}
	layer, err := pick(m, resource)
	if err != nil {
		return nil, err
	}
	blobOnly := resource.Digest != nil && resource.Digest.NormalisationAlgorithm == component.GenericBlobDigest
	return &stream{scope: set.scope, id: set.id + " " + layer.Digest.String(), mediaType: layer.MediaType, digest: layer.Digest, manifest: at, compared: blobOnly,
		open: func(context.Context) (io.ReadCloser, error) { return artifacts.Blob(layer.Digest) }}, nil
}
