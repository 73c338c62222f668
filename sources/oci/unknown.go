// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/internal/transport"
)

// readUnknown asks what t is by reading it into the cache, so that a manifest nobody has read costs one request. One that is there, and one
// that another caller with the same login has just read, is asked for without reading: every call proves that it may read.
func (k *cache) readUnknown(ctx context.Context, t target) (ocispec.Descriptor, error) {
	if k.knows(t) {
		return k.registries.head(ctx, t, manifestPart)
	}
	return k.readTogether(ctx, t)
}

// readTogether reads t unless another caller with the same login does so, or has done so since it was looked whether t is known.
func (k *cache) readTogether(ctx context.Context, t target) (ocispec.Descriptor, error) {
	var found ocispec.Descriptor
	mine := false
	key := fmt.Sprintf("unknown %s %s %s", t.home(), t.at.Reference, t.login.Fingerprint())
	err := k.flights.do(ctx, key, k.registries.options.Timeout/2, func(ctx context.Context) (err error) {
		if k.knows(t) {
			return nil
		}
		if found, err = k.readReference(ctx, t); err == nil {
			mine = true
			k.grants.Set(encode(found), t.grant()...) // before the flight ends, or who comes in between reads it again
		}
		return err
	})
	switch {
	case err == nil && mine:
		return found, nil
	case err != nil && (ctx.Err() != nil || status(err) != 0 || refused(err) || notLoggedIn(err) || down(err)):
		return ocispec.Descriptor{}, err
	}
	return k.registries.head(ctx, t, manifestPart)
}

// knows reports whether the manifest that t stood for is in the cache.
func (k *cache) knows(t target) bool {
	d, err := t.at.Digest()
	if err != nil {
		last, _ := k.lastAnswer(t)
		d = last.Digest
	}
	if d == "" || !k.owns(t, d) {
		return false
	}
	file, err := k.contents.Get(d)
	return err == nil && file.Close() == nil
}

// readReference brings what t is into the cache. What is too large is left to whoever wants it.
func (k *cache) readReference(ctx context.Context, t target) (found ocispec.Descriptor, err error) {
	err = transport.Again(ctx, func() error {
		d, body, err := k.registries.repository(t).FetchReference(ctx, t.at.Reference)
		if err != nil {
			return transport.Fatal(err)
		}
		defer func() { _ = body.Close() }()
		if found, err = t.described(d, nil); err != nil {
			return transport.Fatal(err)
		}
		if t.acceptable(d, k.registries.options.MaxManifest, manifestPart) != nil {
			return nil
		}
		err = k.contents.Put(d.Digest, d.Size, func(w io.Writer) error {
			_, err := io.Copy(w, body)
			return err
		})
		if err == nil {
			k.grants.Set("", t.ownership(d.Digest)...)
		}
		return err
	})
	return found, ended(ctx, err)
}
