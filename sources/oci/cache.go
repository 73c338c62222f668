// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"io"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/internal/transport"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/store"
	"github.com/flux-landscaper/flux-landscaper/sources/scratch"
)

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

// cache serves what registries have answered before, and asks them for the rest. It gives nobody what the registry would refuse.
type cache struct {
	registries *registries
	flights    flights
	contents   *store.Store
	grants     *store.Ledger
	// temporary is the directory to remove at the end, if any.
	temporary *scratch.Directory
}

// rememberedGrants is how many resolved references and owned digests are remembered.
const rememberedGrants = 16384

// start opens the directory.
func (k *cache) start() (err error) {
	o := k.registries.options
	dir := o.Dir
	if dir == "" {
		if k.temporary, err = scratch.Make("landscaper-oci-"); err != nil {
			return fmt.Errorf("registry client: make a temporary directory: %w; set Options.Dir", err)
		}
		dir = k.temporary.Path
	}
	if k.contents, err = store.Open(filepath.Clean(dir), o.CacheBytes); err != nil {
		return fmt.Errorf("registry client: %w", err)
	}
	if k.grants, err = store.OpenLedger(filepath.Join(dir, "grants"), rememberedGrants); err != nil {
		return fmt.Errorf("registry client: %w", err)
	}
	return nil
}

// end removes the temporary directory.
func (k *cache) end() error {
	if k.temporary == nil {
		return nil
	}
	if err := k.temporary.Remove(); err != nil {
		return fmt.Errorf("registry client: remove its temporary directory: %w", err)
	}
	return nil
}

// open returns the content of d from the cache or the registry. The caller has resolved t with the same login.
func (k *cache) open(ctx context.Context, t target, d ocispec.Descriptor, limit int64, what part) (*store.File, error) {
	if err := t.acceptable(d, limit, what); err != nil {
		return nil, err
	}
	release := k.contents.Hold(d.Digest)
	defer release()
	if file, err := k.cached(t, d); err == nil {
		return file, nil
	}
	doing := "download its " + string(what)
	key := fmt.Sprintf("%s@%s %d %s %s", t.home(), d.Digest, d.Size, t.login.Fingerprint(), what)
	err := k.flights.do(ctx, key, k.registries.options.TransferTimeout, func(ctx context.Context) error { return k.download(ctx, t, d, what) })
	if err != nil {
		return nil, t.explain(ctx, doing, err)
	}
	file, err := k.cached(t, d)
	return file, t.explain(ctx, doing, err)
}

// acceptable judges a descriptor, which is as foreign as the content it announces.
func (t target) acceptable(d ocispec.Descriptor, limit int64, what part) error {
	if d.Digest.Validate() != nil || d.Size < 0 {
		return invalid(t.written, fmt.Sprintf("its %s has no usable digest and size", what), "push the artifact anew")
	}
	if d.Size > limit {
		return fail(ErrTooLarge, t.written, fmt.Sprintf("its %s has %d bytes, more than the %d allowed", what, d.Size, limit),
			"make the artifact smaller or raise the limit of the controller")
	}
	return nil
}

// cached returns content that the repository has given away before.
func (k *cache) cached(t target, d ocispec.Descriptor) (*store.File, error) {
	if !k.owns(t, d.Digest) {
		return nil, store.ErrAbsent
	}
	file, err := k.contents.Get(d.Digest)
	if err != nil {
		return nil, err
	}
	if file.Size() != d.Size {
		_ = file.Close()
		return nil, store.ErrAbsent
	}
	return file, nil
}

// download brings d into the cache. Only a complete download proves that the repository has it: an answer to HEAD is as
// easily made up as a manifest.
func (k *cache) download(ctx context.Context, t target, d ocispec.Descriptor, what part) error {
	if file, err := k.cached(t, d); err == nil {
		return file.Close()
	}
	err := transport.Again(ctx, func() error {
		return k.contents.Put(d.Digest, d.Size, func(w io.Writer) error { return k.transfer(ctx, t, d, what, w) })
	})
	if err == nil {
		k.grants.Set("", t.ownership(d.Digest)...)
	}
	return ended(ctx, err)
}

// transfer makes one request and writes its answer to w.
func (k *cache) transfer(ctx context.Context, t target, d ocispec.Descriptor, what part, w io.Writer) error {
	body, err := what.in(k.registries.repository(t)).Fetch(ctx, d)
	if err != nil {
		return transport.Fatal(err)
	}
	defer func() { _ = body.Close() }()
	_, err = io.Copy(w, body)
	return err
}
