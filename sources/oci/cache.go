// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
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

// cache serves what registries have answered before, and asks them for the rest. It gives nobody what the registry would refuse: content is kept for the
// repository that has handed it out, and whoever asks has resolved his reference there with his own login.
type cache struct {
	registries *registries
	contents   *fetch.Store
}

// start opens the directory.
func (k *cache) start() (err error) {
	o := k.registries.options
	for _, ofEarlierVersions := range []string{"blobs", "grants"} {
		if o.Dir != "" {
			_ = os.RemoveAll(filepath.Join(o.Dir, ofEarlierVersions)) // it would take disk space that is not counted
		}
	}
	k.contents, err = fetch.New(fetch.Options{
		Dir: o.Dir, CacheBytes: o.CacheBytes, MaxDownload: max(o.MaxContent, o.MaxBlob, o.MaxManifest), Timeout: o.TransferTimeout,
		Retries: transferTries, RetryDelay: retryDelay,
	})
	if err != nil {
		return fmt.Errorf("registry client: %w", err)
	}
	return nil
}

// open returns the content of d from the cache or the registry. The caller has resolved t with the same login.
func (k *cache) open(ctx context.Context, t target, d ocispec.Descriptor, limit int64, what part) (*fetch.File, error) {
	if err := t.acceptable(d, limit, what); err != nil {
		return nil, err
	}
	file, err := k.contents.Keep(ctx, k.content(t, d, what))
	if err == nil && file.Size != d.Size {
		_ = file.Close()
		err = errSize
	}
	return file, t.explain(ctx, "download its "+string(what), err)
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

// content is what the cache holds of d. Only a complete download proves that the repository has it: an answer to HEAD is as easily made up as a manifest.
func (k *cache) content(t target, d ocispec.Descriptor, what part) fetch.Content {
	return fetch.Content{
		Name: subject(t.written), Scope: t.home(), ID: d.Digest.String(), Digest: d.Digest,
		Place: fmt.Sprintf("%d %s %s", d.Size, t.login.Fingerprint(), what),
		Write: func(ctx context.Context, w io.Writer) error {
			body, err := what.in(k.registries.repository(t)).Fetch(ctx, d)
			if err != nil {
				return &unanswered{ended(ctx, err)}
			}
			defer func() { _ = body.Close() }()
			n, err := io.Copy(w, io.LimitReader(body, d.Size+1))
			if err == nil && n != d.Size {
				err = errSize
			}
			return ended(ctx, err)
		},
		Again: func(err error) bool { return !errors.As(err, new(*unanswered)) && interrupted(err) },
	}
}

// unanswered is the error of a request that got no answer after all its tries: a transfer is begun anew only where it broke in the middle.
type unanswered struct{ error }

// Unwrap returns the error.
func (u *unanswered) Unwrap() error { return u.error }

// errSize is inside the error of content that has another size than its descriptor says.
var errSize = errors.New("more or fewer bytes were received than announced")
