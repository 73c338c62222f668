// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

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
	m, at, err := manifestOfSet(artifacts)
	if err != nil {
		return nil, err
	}
	layer, err := pick(m, resource)
	if err != nil {
		return nil, err
	}
	blobOnly := resource.Digest != nil && resource.Digest.NormalisationAlgorithm == component.GenericBlobDigest
	return &stream{scope: set.scope, id: set.id + " " + layer.Digest.String(), mediaType: layer.MediaType, digest: layer.Digest, manifest: at, compared: blobOnly,
		open: func(context.Context) (io.ReadCloser, error) { return artifacts.Blob(layer.Digest) }}, nil
}

// maxSetManifest is how many bytes a manifest in an artifact set may have.
const maxSetManifest = 4 << 20

// manifestOfSet reads the main manifest and returns it with the digest of the artifact: of the index, if it is one of several
// manifests, whose first is taken.
func manifestOfSet(set *formats.ArtifactSet) (ocispec.Manifest, digest.Digest, error) {
	at := set.Main
	for range 2 {
		raw, err := readVerified(set, at.Digest)
		if err != nil {
			return ocispec.Manifest{}, "", err
		}
		var both struct {
			ocispec.Manifest
			Manifests []ocispec.Descriptor `json:"manifests"`
		}
		if json.Unmarshal(raw, &both) != nil {
			break
		}
		if len(both.Manifests) == 0 {
			return both.Manifest, set.Main.Digest, nil
		}
		at = both.Manifests[0]
	}
	return ocispec.Manifest{}, "", stalled("artifact set", "its main manifest cannot be read", "publish the component version anew")
}

func readVerified(set *formats.ArtifactSet, d digest.Digest) ([]byte, error) {
	if d.Validate() != nil {
		return nil, stalled("artifact set", fmt.Sprintf("digest %q cannot be used", d), "publish the component version anew")
	}
	content, err := set.Blob(d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	raw, err := io.ReadAll(io.LimitReader(content, maxSetManifest+1))
	switch {
	case err != nil:
		return nil, err
	case len(raw) > maxSetManifest:
		return nil, stalled("artifact set", "its manifest is too large", "publish the component version anew")
	case d.Algorithm().FromBytes(raw) != d:
		return nil, mismatch(d, d.Algorithm().FromBytes(raw))
	}
	return raw, nil
}
