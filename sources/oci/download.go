// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/store"
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

// open returns the content of d from the cache or the registry. The caller has resolved t with the same login.
func (c *Client) open(ctx context.Context, t target, d ocispec.Descriptor, limit int64, what part) (*store.File, error) {
	if err := t.acceptable(d, limit, what); err != nil {
		return nil, err
	}
	release := c.contents.Hold(d.Digest)
	defer release()
	if file, err := c.cached(t, d); err == nil {
		return file, nil
	}
	doing := "download its " + string(what)
	key := fmt.Sprintf("%s@%s %d %s %s", t.home(), d.Digest, d.Size, t.login.fingerprint(), what)
	err := c.flights.do(ctx, key, c.options.TransferTimeout, func(ctx context.Context) error { return c.download(ctx, t, d, what) })
	if err != nil {
		return nil, t.explain(ctx, doing, err)
	}
	file, err := c.cached(t, d)
	return file, t.explain(ctx, doing, err)
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

// cached returns content that the repository has given away before.
func (c *Client) cached(t target, d ocispec.Descriptor) (*store.File, error) {
	if !c.owns(t, d.Digest) {
		return nil, store.ErrAbsent
	}
	file, err := c.contents.Get(d.Digest)
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
func (c *Client) download(ctx context.Context, t target, d ocispec.Descriptor, what part) error {
	if file, err := c.cached(t, d); err == nil {
		return file.Close()
	}
	err := again(ctx, func() error {
		return c.contents.Put(d.Digest, d.Size, func(w io.Writer) error { return c.transfer(ctx, t, d, what, w) })
	})
	if err == nil {
		c.grants.Set("", t.ownership(d.Digest)...)
	}
	return ended(ctx, err)
}

// permanent is an error that another try of the whole transfer does not help.
type permanent struct{ error }

// Unwrap returns the error.
func (p permanent) Unwrap() error { return p.error }

// transfer makes one request and writes its answer to w.
func (c *Client) transfer(ctx context.Context, t target, d ocispec.Descriptor, what part, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := what.in(c.repository(t)).Fetch(ctx, d)
	if err != nil {
		return permanent{err}
	}
	defer func() { _ = body.Close() }()
	return c.receive(ctx, cancel, body, w)
}

// receive writes the answer to a request with ctx to w; cancel ends the request when too little arrives.
func (c *Client) receive(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader, w io.Writer) error {
	guarded := guardPace(body, c.options.Timeout/2, cancel)
	defer guarded.stop()
	_, err := io.Copy(w, guarded)
	slow := (*slowError)(nil)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case errors.Is(cause, errStalled):
		return errStalled
	case errors.As(cause, &slow):
		return permanent{slow}
	}
	return err
}
