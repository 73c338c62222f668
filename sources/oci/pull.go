// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
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
	Credentials Credentials
	// LayerMediaTypes are the media types to accept, the best first; empty means the first layer, whatever it is.
	LayerMediaTypes []string
	// MaxBytes limits the blob; zero means Options.MaxBlob, for PullContent Options.MaxContent.
	MaxBytes int64
	// Platform chooses from an index of several manifests, as "os/architecture" or "os/architecture/variant"; empty means
	// linux on the architecture of this process. The only manifest of an index is taken whatever it is for.
	Platform string
}

// Blob is verified content of an artifact.
type Blob struct {
	// Digest and MediaType describe the blob.
	Digest    digest.Digest
	MediaType string
	// Bytes is the content. It is shared with the cache and must not be changed.
	Bytes []byte
	// ManifestDigest is the digest that the tag stood for at the time of the call.
	ManifestDigest digest.Digest
	// Stale is that of the Manifest.
	Stale bool
}

// Manifest is the verified manifest of an artifact that the caller may read.
type Manifest struct {
	// Digest is the digest that the reference stood for at the time of the call; that of the index, if it is one.
	Digest digest.Digest
	// Raw is the manifest as the registry has it. It must not be changed.
	Raw []byte
	// Stale says that the registry could not be asked, and that Digest is what it said to the same credentials before.
	Stale bool
	ocispec.Manifest

	client *Client
	target target
}

// Pull returns one layer of the artifact that ref names ("host/repository:tag", with or without "oci://"). The error is an
// *Error whose Kind tells whether another try makes sense.
func (c *Client) Pull(ctx context.Context, ref string, o PullOptions) (*Blob, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	m, err := c.Manifest(ctx, ref, o.Credentials)
	if err != nil {
		return nil, err
	}
	layer, err := m.layer(o.LayerMediaTypes)
	if err != nil {
		return nil, err
	}
	return m.Blob(ctx, layer.Digest, o.MaxBytes)
}

// ManifestFor is Manifest with the credentials and platform of o.
func (c *Client) ManifestFor(ctx context.Context, ref string, o PullOptions) (*Manifest, error) {
	return c.Manifest(ctx, ref, o.Credentials)
}

// Manifest resolves ref with the caller's credentials and returns its manifest. An index of several manifests is an
// ErrInvalid.
func (c *Client) Manifest(ctx context.Context, ref string, credentials Credentials) (*Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return nil, err
	}
	found, err := c.repository(t).Resolve(ctx, t.at.Reference)
	if err != nil {
		return nil, t.explain("resolve it", err)
	}
	raw, err := c.content(ctx, t, found, c.options.MaxManifest, manifestPart)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Digest: found.Digest, Raw: raw, client: c, target: t}
	if err := json.Unmarshal(raw, &m.Manifest); err != nil {
		return nil, invalid(ref, "its manifest is not JSON of an OCI manifest", "push the artifact anew")
	}
	if err := m.check(found.MediaType); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Manifest) check(mediaType string) error {
	if strings.Contains(mediaType, "index") || strings.Contains(mediaType, "manifest.list") {
		return invalid(m.target.written, fmt.Sprintf("it is an index of several artifacts (%s)", mediaType),
			"name one of them by its digest")
	}
	return nil
}

// layer picks the layer to pull.
func (m *Manifest) layer(accepted []string) (ocispec.Descriptor, error) {
	if len(accepted) == 0 && len(m.Layers) > 0 {
		return m.Layers[0], nil
	}
	for _, mediaType := range accepted {
		if i := slices.IndexFunc(m.Layers, func(l ocispec.Descriptor) bool { return l.MediaType == mediaType }); i >= 0 {
			return m.Layers[i], nil
		}
	}
	const cure = "check that it is an artifact of the kind expected here"
	if len(m.Layers) == 0 {
		return ocispec.Descriptor{}, invalid(m.target.written, "it has no layers", cure)
	}
	return ocispec.Descriptor{}, invalid(m.target.written,
		fmt.Sprintf("it has no layer of type %s; its layers are %s", typeList(accepted), typeList(mediaTypes(m.Layers))), cure)
}

func mediaTypes(layers []ocispec.Descriptor) []string {
	types := make([]string, len(layers))
	for i, l := range layers {
		types[i] = l.MediaType
	}
	return types
}

// typeList prints the first types, for a manifest may have any number of them.
func typeList(types []string) string {
	const most = 8
	if len(types) > most {
		return strings.Join(types[:most], ", ") + fmt.Sprintf(" and %d more", len(types)-most)
	}
	return strings.Join(types, ", ")
}

// Blob returns the config or layer of m with the digest d, of at most maxBytes; zero means Options.MaxBlob.
func (m *Manifest) Blob(ctx context.Context, d digest.Digest, maxBytes int64) (*Blob, error) {
	ctx, cancel := context.WithTimeout(ctx, m.client.options.Timeout)
	defer cancel()
	all := append([]ocispec.Descriptor{m.Config}, m.Layers...)
	i := slices.IndexFunc(all, func(l ocispec.Descriptor) bool { return l.Digest == d })
	if i < 0 {
		return nil, &Error{Kind: ErrNotFound, Ref: m.target.written, Problem: fmt.Sprintf("it has no layer %s", d), Cure: "check the digest of the local blob"}
	}
	if maxBytes <= 0 {
		maxBytes = m.client.options.MaxBlob
	}
	raw, err := m.client.content(ctx, m.target, all[i], maxBytes, layerPart)
	if err != nil {
		return nil, err
	}
	return &Blob{Digest: d, MediaType: all[i].MediaType, Bytes: raw, ManifestDigest: m.Digest}, nil
}

// part is what of an artifact is downloaded, in the words of a message.
type part string

const (
	manifestPart part = "manifest"
	layerPart    part = "layer"
)

// in returns where the registry keeps the part; a media type in a foreign manifest must not decide that.
func (p part) in(r *remote.Repository) content.Fetcher {
	if p == manifestPart {
		return r.Manifests()
	}
	return r.Blobs()
}

// content returns the bytes of d from the cache or the registry. The caller has resolved a manifest of the same repository
// with the same login.
func (c *Client) content(ctx context.Context, t target, d ocispec.Descriptor, limit int64, what part) ([]byte, error) {
	if err := t.acceptable(d, limit, what); err != nil {
		return nil, err
	}
	key := cacheKey{t.home(), d.Digest}
	if found, ok := c.cache.get(key); ok && int64(len(found)) == d.Size {
		return found, nil
	}
	flight := fmt.Sprintf("%s@%s %d %x", key.home, key.digest, d.Size, fingerprint(t.login))
	done := c.flights.DoChan(flight, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.options.Timeout)
		defer cancel()
		return c.download(ctx, t, d, key, what)
	})
	select {
	case <-ctx.Done():
		return nil, t.explain("download its "+string(what), context.Cause(ctx))
	case result := <-done:
		if result.Err != nil {
			return nil, t.explain("download its "+string(what), result.Err)
		}
		return result.Val.([]byte), nil
	}
}

// acceptable judges a descriptor, which is as foreign as the content it announces.
func (t target) acceptable(d ocispec.Descriptor, limit int64, what part) error {
	if d.Digest.Validate() != nil || d.Size < 0 {
		return invalid(t.written, fmt.Sprintf("its %s has no usable digest and size", what), "push the artifact anew")
	}
	if d.Size > limit {
		return &Error{Kind: ErrTooLarge, Ref: t.written, Cure: "make the artifact smaller or raise the limit of the controller",
			Problem: fmt.Sprintf("its %s has %d bytes, more than the %d allowed", what, d.Size, limit)}
	}
	return nil
}

// download fetches and verifies d and keeps it.
func (c *Client) download(ctx context.Context, t target, d ocispec.Descriptor, key cacheKey, what part) ([]byte, error) {
	if found, ok := c.cache.get(key); ok && int64(len(found)) == d.Size {
		return found, nil
	}
	raw, err := content.FetchAll(ctx, what.in(c.repository(t)), d)
	if err != nil {
		return nil, err
	}
	c.cache.add(key, raw)
	return raw, nil
}
