// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// Media types of layers that callers ask for.
const (
	HelmChartLayer       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	HelmChartLayerLegacy = "application/tar+gzip"
	FluxContentLayer     = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// PullOptions say what to pull and as whom.
type PullOptions struct {
	// Credentials are the caller's logins.
	Credentials keychain.Credentials
	// LayerMediaTypes are the media types to accept, the best first; empty means the first layer, whatever it is.
	LayerMediaTypes []string
	// MaxBytes limits the blob; zero means Options.MaxBlob, for PullContent Options.MaxContent.
	MaxBytes int64
	// Platform chooses from an index of several manifests, as "os/architecture" or "os/architecture/variant"; empty means
	// linux on the architecture of this process. The only manifest of an index is taken whatever it is for.
	Platform string
	// First takes the first manifest of an index if that is for no platform, whatever is behind it: OCM writes component versions so.
	First bool
}

// Blob is verified content of an artifact.
type Blob struct {
	// Digest and MediaType describe the blob.
	Digest    digest.Digest
	MediaType string
	// Bytes is the content.
	Bytes []byte
	// ManifestDigest is the digest that the tag stood for at the time of the call.
	ManifestDigest digest.Digest
	// Stale is that of the Manifest.
	Stale bool
}

// Pull returns one layer of the artifact that ref names ("host/repository:tag", with or without "oci://"). The error is a
// *fault.Error whose Kind reports whether another try makes sense.
func (c *Client) Pull(ctx context.Context, ref string, o PullOptions) (*Blob, error) {
	ctx, cancel := c.registries.limited(ctx)
	defer cancel()
	m, layer, err := c.pick(ctx, ref, o)
	if err != nil {
		return nil, err
	}
	return m.Blob(ctx, layer.Digest, o.MaxBytes)
}

func (c *Client) pick(ctx context.Context, ref string, o PullOptions) (*Manifest, ocispec.Descriptor, error) {
	m, err := c.ManifestFor(ctx, ref, o)
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	layer, err := m.Layer(o.LayerMediaTypes...)
	return m, layer, err
}

// Blob returns the config or layer of m with the digest d, of at most maxBytes; zero means Options.MaxBlob. The error is a
// *fault.Error.
func (m *Manifest) Blob(ctx context.Context, d digest.Digest, maxBytes int64) (*Blob, error) {
	ctx, cancel := m.client.registries.limited(ctx)
	defer cancel()
	found, err := m.part(d)
	if err != nil {
		return nil, err
	}
	raw, err := m.client.cache.bytes(ctx, m.target, found, orLimit(maxBytes, m.client.registries.options.MaxBlob), layerPart)
	if err != nil {
		return nil, err
	}
	return &Blob{Digest: d, MediaType: found.MediaType, Bytes: raw, ManifestDigest: m.Digest, Stale: m.Stale}, nil
}

// orLimit is what a caller asks for, as far as the operator allows it.
func orLimit(asked, limit int64) int64 {
	if asked <= 0 {
		return limit
	}
	return min(asked, limit)
}

// limited bounds a call with all its requests.
func (r *registries) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, r.options.Timeout, fetch.TimedOut(r.options.Timeout))
}

// transferring bounds the transfer of one blob.
func (r *registries) transferring(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, r.options.TransferTimeout, fetch.TimedOut(r.options.TransferTimeout))
}
