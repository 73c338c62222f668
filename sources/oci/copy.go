// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"context"
	"io"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// CopyOptions are the logins of both sides of a copy.
type CopyOptions struct {
	// From and To are the caller's logins for the source and the destination.
	From, To keychain.Credentials
}

// Copy copies the artifact from (with tag or digest) to the repository and, if it has one, the tag of to, byte by byte: the
// digest stays. Of an index all manifests are copied. What the destination has is not sent again, and within one
// registry nothing is. It returns the digest. The error is a *fault.Error that names the side that failed.
func (c *Client) Copy(ctx context.Context, from, to string, o CopyOptions) (digest.Digest, error) {
	destination, err := c.registries.locate(to, o.To, false)
	if err != nil {
		return "", err
	}
	work := &copying{client: c, to: destination, credentials: o.To}
	found, err := c.Walk(ctx, from, o.From, func(p Part) error {
		if p.Raw == nil {
			return work.blob(ctx, p)
		}
		return work.manifest(ctx, p)
	})
	return found.Digest, err
}

// copying is one call of Copy.
type copying struct {
	client      *Client
	to          target
	credentials keychain.Credentials
}

// manifest sends a manifest or index, under the name of the whole where it is that.
func (w *copying) manifest(ctx context.Context, p Part) error {
	at, as := w.to, w.to.written
	if !p.Top {
		at.at.Reference, as = "", w.to.repository()
	}
	at.at.Reference = cmp.Or(at.at.Reference, p.Digest.String())
	if w.has(ctx, at, p.Digest) {
		return nil
	}
	_, err := w.client.PushManifest(ctx, as, p.MediaType, p.Raw, w.credentials)
	return err
}

// has goes by the answer of the destination alone; whoever does not say is sent the manifest, and says then what is wrong.
func (w *copying) has(ctx context.Context, at target, d digest.Digest) bool {
	ctx, cancel := w.client.registries.limited(ctx)
	defer cancel()
	there, err := w.client.registries.head(ctx, at, manifestPart)
	return err == nil && there.Digest == d
}

// repository is the reference without tag and digest, as the caller wrote it.
func (t target) repository() string {
	at, err := ParseReference(t.written)
	if err != nil {
		return t.written
	}
	return at.Repository()
}

func (w *copying) blob(ctx context.Context, p Part) error {
	ctx, cancel := w.client.registries.transferring(ctx)
	defer cancel()
	there, err := w.client.registries.repository(w.to).Blobs().Exists(ctx, p.Descriptor)
	if err != nil || there {
		return w.to.explain(ctx, "look for a blob", err)
	}
	if p.from.at.Registry == w.to.at.Registry && p.from.plain == w.to.plain {
		return w.mount(ctx, p)
	}
	file, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	return w.to.explain(ctx, "upload a blob", w.client.registries.upload(ctx, w.to, p.Descriptor, file))
}

// mount lets the registry link the blob; one that cannot is given the content.
func (w *copying) mount(ctx context.Context, p Part) error {
	var file *fetch.File
	err := w.client.registries.repository(w.to).Mount(ctx, p.Descriptor, p.from.at.Repository, func() (body io.ReadCloser, err error) {
		if file, err = p.open(ctx); err != nil {
			return nil, err
		}
		return newRewindable(file, p.Size), nil
	})
	if file != nil {
		_ = file.Close()
	}
	return w.to.explain(ctx, "upload a blob", err)
}
