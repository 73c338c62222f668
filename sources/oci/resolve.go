// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// Resolved is what a reference stands for.
type Resolved struct {
	// Descriptor is that of the manifest or index.
	ocispec.Descriptor
	// Stale says that the registry could not be asked, and that this is what it said to the same credentials before.
	Stale bool
}

// Resolve asks the registry, with the caller's credentials, what ref ("host/repository:tag", or with a digest) stands for.
// A registry that is down, and no more than that, is bridged by its last answer to the same credentials. The error is a
// *fault.Error.
func (c *Client) Resolve(ctx context.Context, ref string, credentials keychain.Credentials) (Resolved, error) {
	_, found, err := c.find(ctx, ref, credentials)
	return found, err
}

// find resolves a reference.
func (c *Client) find(ctx context.Context, ref string, credentials keychain.Credentials) (target, Resolved, error) {
	t, err := c.registries.locate(ref, credentials, true)
	if err != nil {
		return t, Resolved{}, err
	}
	return c.cache.resolve(ctx, t, manifestPart)
}

// resolve proves that the caller may read what t names. It returns the target to go on with, which is anonymous if the
// registry accepts nothing else.
func (k *cache) resolve(ctx context.Context, t target, what part) (target, Resolved, error) {
	limit := k.registries.options.Timeout / 2
	asking, cancel := context.WithTimeoutCause(ctx, limit, fetch.TimedOut(limit))
	defer cancel()
	asked, found, err := k.registries.ask(asking, t, what)
	switch {
	case err == nil:
		k.remember(t, found)
		return asked, Resolved{found, false}, nil
	case refused(err), notLoggedIn(err) && !down(err):
		k.contents.Drop(t.answers(), t.at.Reference)
	case down(err) && ctx.Err() == nil:
		if last, ok := k.lastAnswer(t); ok {
			return t, Resolved{last, true}, nil
		}
	}
	return t, Resolved{}, t.explain(asking, "resolve it", err)
}

// ask falls back to no login at all, since a login that has expired must not hide what everybody may read.
func (r *registries) ask(ctx context.Context, t target, what part) (target, ocispec.Descriptor, error) {
	found, err := r.head(ctx, t, what)
	if err == nil || !unauthorized(err) && !notLoggedIn(err) || t.login.Anonymous() {
		return t, found, err
	}
	anonymous := t
	anonymous.login = t.login.WithoutLogin()
	if found, again := r.head(ctx, anonymous, what); again == nil {
		return anonymous, found, nil
	}
	return t, found, err
}

// head asks by HEAD, and by GET if the registry cannot answer that, or refuses: only then it says why.
func (r *registries) head(ctx context.Context, t target, what part) (ocispec.Descriptor, error) {
	asked := r.repository(t)
	if what == layerPart {
		return t.described(asked.Blobs().Resolve(ctx, t.at.Reference))
	}
	found, err := t.described(asked.Resolve(ctx, t.at.Reference))
	if err == nil || ctx.Err() != nil || notLoggedIn(err) || down(err) {
		return found, err
	}
	byGet, content, again := asked.FetchReference(ctx, t.at.Reference)
	if status(again) != 0 {
		return found, again
	}
	if again != nil {
		return found, err
	}
	return t.described(byGet, content.Close())
}

// described returns what a registry said t is, unless that is too long to be remembered.
func (t target) described(found ocispec.Descriptor, err error) (ocispec.Descriptor, error) {
	if err == nil && len(found.MediaType) > maxMediaType {
		problem := fmt.Sprintf("the registry gives it a media type of more than %d bytes", maxMediaType)
		return ocispec.Descriptor{}, invalid(t.written, problem, "push the artifact anew with a shorter one, or check what answers at the registry's address")
	}
	return found, err
}

// lastAnswer is what the registry said that t is, to the same login, at last.
func (k *cache) lastAnswer(t target) (d ocispec.Descriptor, known bool) {
	raw, ok := k.contents.Get(t.answers(), t.at.Reference)
	known = ok && json.Unmarshal(raw, &d) == nil && d.Digest.Validate() == nil
	return d, known
}

// remember keeps of d what says what it is. What cannot be written is not known later; nothing depends on it but tolerance.
func (k *cache) remember(t target, d ocispec.Descriptor) {
	raw, err := json.Marshal(ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size})
	if known, ok := k.contents.Get(t.answers(), t.at.Reference); err == nil && (!ok || !bytes.Equal(known, raw)) {
		_ = k.contents.Put(t.answers(), t.at.Reference, raw)
	}
}

// answers is the scope of what the registry said to this login.
func (t target) answers() string {
	return fmt.Sprintf("answers %s %s", t.home(), t.login.Fingerprint())
}
