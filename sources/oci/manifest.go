// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
)

// Manifest is the verified manifest of an artifact that the caller may read.
type Manifest struct {
	// Digest is the digest that the reference stood for at the time of the call; that of the index, if it is one.
	Digest digest.Digest
	// Own is the digest of this manifest: Digest, unless that is an index.
	Own digest.Digest
	// Raw is the manifest as the registry has it. Its bytes must not be changed; who needs them no more may let them go.
	Raw []byte
	// Stale says that the registry could not be asked, and that Digest is what it said to the same credentials before.
	Stale bool
	// Manifest is the content. MediaType is never empty.
	ocispec.Manifest

	client *Client
	target target
}

// Media types of manifests beside those of OCI.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
	ociArtifact    = "application/vnd.oci.artifact.manifest.v1+json"
)

// maxMediaType is how many bytes a media type may have, as RFC 6838 says for both of its names: that of an answer is remembered.
const maxMediaType = 255

// maxElements bounds the commas of a manifest: a few bytes of JSON can ask for fifty times their memory.
const maxElements = 100_000

// document is a manifest or index, whichever it is.
type document struct {
	ocispec.Manifest
	Manifests []ocispec.Descriptor `json:"manifests"`
	// Blobs are the layers in the media type ociArtifact, which came and went with a draft of OCI.
	Blobs []ocispec.Descriptor `json:"blobs"`
}

// parseManifest decodes what the registry calls a mediaType. ref is for messages.
func parseManifest(ref, mediaType string, raw []byte) (*document, error) {
	const cure = "push the artifact anew"
	if n := bytes.Count(raw, []byte(",")); n > maxElements {
		return nil, fail(ErrTooLarge, ref, fmt.Sprintf("its manifest has %d elements, more than the %d allowed", n, maxElements), "make the artifact smaller")
	}
	var d document
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, invalid(ref, "its manifest is not JSON of an OCI manifest", cure)
	}
	if d.MediaType != "" && d.MediaType != mediaType {
		return nil, invalid(ref, fmt.Sprintf("its manifest calls itself %.100q, and the registry calls it %.100q", d.MediaType, mediaType), cure)
	}
	if len(d.Manifests) > 0 && len(d.Layers) > 0 {
		return nil, invalid(ref, "its manifest is a manifest and an index at once", cure)
	}
	d.MediaType = mediaType
	d.Layers = append(d.Layers, d.Blobs...)
	return &d, nil
}

// isIndex goes by the media type; one that is neither known nor called so is a manifest.
func (d *document) isIndex() bool {
	return d.MediaType == dockerList || strings.Contains(d.MediaType, "index") || len(d.Manifests) > 0
}

// Manifest resolves ref with the caller's credentials and returns its manifest; of an index the one for linux on the
// architecture of this process. The error is a *fault.Error.
func (c *Client) Manifest(ctx context.Context, ref string, credentials Credentials) (*Manifest, error) {
	return c.ManifestFor(ctx, ref, PullOptions{Credentials: credentials})
}

// ManifestFor is Manifest with the credentials and platform of o.
func (c *Client) ManifestFor(ctx context.Context, ref string, o PullOptions) (*Manifest, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	t, found, err := c.find(ctx, ref, o.Credentials)
	if err != nil {
		return nil, err
	}
	m := &Manifest{Digest: found.Digest, Stale: found.Stale, client: c, target: t}
	if err := m.read(ctx, found.Descriptor, o); err != nil {
		return nil, err
	}
	return m, nil
}

// maxDepth is how deep indexes may lie in each other.
const maxDepth = 4

// read follows indexes to the manifest for the platform.
func (m *Manifest) read(ctx context.Context, at ocispec.Descriptor, o PullOptions) error {
	for range maxDepth {
		raw, d, err := m.client.document(ctx, m.target, at)
		if err != nil {
			return err
		}
		if !d.isIndex() {
			m.Own, m.Raw, m.Manifest = at.Digest, raw, d.Manifest
			return nil
		}
		if o.First && len(d.Manifests) > 0 && d.Manifests[0].Platform == nil {
			at = d.Manifests[0]
			continue
		}
		if at, err = choose(m.target.written, d.Manifests, o.Platform); err != nil {
			return err
		}
	}
	return invalid(m.target.written, fmt.Sprintf("its indexes lie more than %d deep in each other", maxDepth), "name one manifest by its digest")
}

// document returns the manifest or index at a descriptor, in bytes and decoded.
func (c *Client) document(ctx context.Context, t target, at ocispec.Descriptor) ([]byte, *document, error) {
	raw, err := c.bytes(ctx, t, at, DefaultMaxManifest, manifestPart)
	if err != nil {
		return nil, nil, err
	}
	d, err := parseManifest(t.written, at.MediaType, raw)
	return raw, d, err
}

// bytes returns content that fits into memory.
func (c *Client) bytes(ctx context.Context, t target, d ocispec.Descriptor, limit int64, what part) ([]byte, error) {
	file, err := c.open(ctx, t, d, limit, what)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content := make([]byte, file.Size)
	if _, err := io.ReadFull(file, content); err != nil {
		return nil, t.explain(ctx, "read its "+string(what)+" from the cache", err)
	}
	return content, nil
}

// Layer returns the layer whose media type comes first among the accepted ones, or the first layer if none are named. The
// error is an ErrInvalid that lists what there is.
func (m *Manifest) Layer(accepted ...string) (ocispec.Descriptor, error) {
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

// part returns the config or layer with the digest.
func (m *Manifest) part(d digest.Digest) (ocispec.Descriptor, error) {
	all := append([]ocispec.Descriptor{m.Config}, m.Layers...)
	i := slices.IndexFunc(all, func(l ocispec.Descriptor) bool { return l.Digest == d })
	if i < 0 {
		return ocispec.Descriptor{}, fail(ErrNotFound, m.target.written, fmt.Sprintf("it has no layer %s", d), "check the digest of the local blob")
	}
	return all[i], nil
}

func mediaTypes(layers []ocispec.Descriptor) []string {
	types := make([]string, len(layers))
	for i, l := range layers {
		types[i] = l.MediaType
	}
	return types
}

// typeList prints the first types, for a manifest may have any number of them, of any length.
func typeList(types []string) string {
	const most, longest = 8, 120
	short := make([]string, 0, most)
	for _, t := range types[:min(most, len(types))] {
		short = append(short, fmt.Sprintf("%.*s", longest, t))
	}
	list := strings.Join(short, ", ")
	if more := len(types) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// Media types of layers that callers ask for.
const (
	HelmChartLayer       = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	HelmChartLayerLegacy = "application/tar+gzip"
	FluxContentLayer     = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// PullOptions say which manifest of an index to take, and as whom.
type PullOptions struct {
	// Credentials are the caller's logins.
	Credentials Credentials
	// Platform chooses from an index of several manifests, as "os/architecture" or "os/architecture/variant"; empty means
	// linux on the architecture of this process. The only manifest of an index is taken whatever it is for.
	Platform string
	// First takes the first manifest of an index if that is for no platform, whatever is behind it: OCM writes component versions so.
	First bool
}

// Blob returns the config or layer of m with the digest d, of at most maxBytes; zero means Options.MaxBlob. The error is a
// *fault.Error.
func (m *Manifest) Blob(ctx context.Context, d digest.Digest, maxBytes int64) ([]byte, error) {
	ctx, cancel := m.client.limited(ctx)
	defer cancel()
	found, err := m.part(d)
	if err != nil {
		return nil, err
	}
	return m.client.bytes(ctx, m.target, found, orLimit(maxBytes, m.client.options.MaxBlob), layerPart)
}

// orLimit is what a caller asks for, as far as the operator allows it.
func orLimit(asked, limit int64) int64 {
	if asked <= 0 {
		return limit
	}
	return min(asked, limit)
}

// limited bounds a call with all its requests.
func (c *Client) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.options.Timeout, fetch.TimedOut(c.options.Timeout))
}

// transferring bounds the transfer of one blob.
func (c *Client) transferring(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, c.options.TransferTimeout, fetch.TimedOut(c.options.TransferTimeout))
}

// Content is verified content on disk. It implements io.Reader, io.Seeker, io.ReaderAt and io.Closer; ReadAt may be called
// concurrently. It has to be closed.
type Content struct {
	Digest digest.Digest

	*io.SectionReader
	file *fetch.File
}

// Close gives the content back to the cache.
func (c *Content) Close() error { return c.file.Close() }

// opened returns the content of d as it is in the cache, after a download where it is not.
func (c *Client) opened(ctx context.Context, t target, d ocispec.Descriptor, limit int64) (*Content, error) {
	ctx, cancel := c.transferring(ctx)
	defer cancel()
	file, err := c.open(ctx, t, d, limit, layerPart)
	if err != nil {
		return nil, err
	}
	return &Content{Digest: d.Digest, SectionReader: io.NewSectionReader(file, 0, file.Size), file: file}, nil
}

// Open returns the config or layer of m with the digest d, of at most maxBytes; zero means Options.MaxContent. It is
// streamed to disk unless it is there. The caller closes it. The error is a *fault.Error.
func (m *Manifest) Open(ctx context.Context, d digest.Digest, maxBytes int64) (*Content, error) {
	found, err := m.part(d)
	if err != nil {
		return nil, err
	}
	return m.client.opened(ctx, m.target, found, orLimit(maxBytes, m.client.options.MaxContent))
}

// OpenBlob returns a blob that is named by its digest alone, as component versions do with access type ociBlob: ref is
// "host/repository@digest", size is what the caller was told, or negative if unknown; maxBytes limits it, zero means
// Options.MaxContent. The caller closes it. The error is a *fault.Error.
func (c *Client) OpenBlob(ctx context.Context, ref string, size, maxBytes int64, credentials Credentials) (*Content, error) {
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return nil, err
	}
	if _, err := t.at.Digest(); err != nil {
		return nil, invalid(ref, "a blob has no tag", "write it as host/repository@sha256:digest")
	}
	t, found, err := c.resolve(ctx, t, layerPart)
	if err != nil {
		return nil, err
	}
	if size >= 0 {
		found.Size = size
	}
	return c.opened(ctx, t, found.Descriptor, orLimit(maxBytes, c.options.MaxContent))
}

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
