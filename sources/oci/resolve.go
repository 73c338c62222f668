// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
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
func (c *Client) Resolve(ctx context.Context, ref string, credentials Credentials) (Resolved, error) {
	_, found, err := c.find(ctx, ref, credentials)
	return found, err
}

// find resolves a reference.
func (c *Client) find(ctx context.Context, ref string, credentials Credentials) (target, Resolved, error) {
	t, err := c.locate(ref, credentials, true)
	if err != nil {
		return t, Resolved{}, err
	}
	return c.resolve(ctx, t, manifestPart)
}

// resolve proves that the caller may read what t names. It returns the target to go on with, which is anonymous if the
// registry accepts nothing else.
func (c *Client) resolve(ctx context.Context, t target, what part) (target, Resolved, error) {
	limit := c.options.Timeout / 2
	asking, cancel := context.WithTimeoutCause(ctx, limit, fetch.TimedOut(limit))
	defer cancel()
	asked, found, err := c.ask(asking, t, what)
	switch {
	case err == nil:
		c.remember(t, found)
		return asked, Resolved{found, false}, nil
	case refused(err), notLoggedIn(err) && !down(err):
		c.contents.Drop(t.answers(), t.at.Reference)
	case down(err) && ctx.Err() == nil:
		if last, ok := c.lastAnswer(t); ok {
			return t, Resolved{last, true}, nil
		}
	}
	return t, Resolved{}, t.explain(asking, "resolve it", err)
}

// ask falls back to no login at all, since a login that has expired must not hide what everybody may read.
func (c *Client) ask(ctx context.Context, t target, what part) (target, ocispec.Descriptor, error) {
	found, err := c.head(ctx, t, what)
	if err == nil || !unauthorized(err) && !notLoggedIn(err) || t.login.Anonymous() {
		return t, found, err
	}
	anonymous := t
	anonymous.login = t.login.WithoutLogin()
	if found, again := c.head(ctx, anonymous, what); again == nil {
		return anonymous, found, nil
	}
	return t, found, err
}

// head asks by HEAD, and by GET if the registry cannot answer that, or refuses: only then it says why.
func (c *Client) head(ctx context.Context, t target, what part) (ocispec.Descriptor, error) {
	asked := c.repository(t)
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
func (c *Client) lastAnswer(t target) (d ocispec.Descriptor, known bool) {
	raw, ok := c.contents.Get(t.answers(), t.at.Reference)
	known = ok && json.Unmarshal(raw, &d) == nil && d.Digest.Validate() == nil
	return d, known
}

// remember keeps of d what says what it is. What cannot be written is not known later; nothing depends on it but tolerance.
func (c *Client) remember(t target, d ocispec.Descriptor) {
	raw, err := json.Marshal(ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: d.Size})
	if known, ok := c.contents.Get(t.answers(), t.at.Reference); err == nil && (!ok || !bytes.Equal(known, raw)) {
		_ = c.contents.Put(t.answers(), t.at.Reference, raw)
	}
}

// answers is the scope of what the registry said to this login.
func (t target) answers() string {
	return fmt.Sprintf("answers %s %s", t.home(), t.login.Fingerprint())
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

// open returns the content of d from the cache or the registry. The caller has resolved t with the same login.
func (c *Client) open(ctx context.Context, t target, d ocispec.Descriptor, limit int64, what part) (*fetch.File, error) {
	if err := t.acceptable(d, limit, what); err != nil {
		return nil, err
	}
	file, err := c.contents.Keep(ctx, c.content(t, d, what))
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
func (c *Client) content(t target, d ocispec.Descriptor, what part) fetch.Content {
	return fetch.Content{
		Name: subject(t.written), Scope: t.home(), ID: d.Digest.String(), Digest: d.Digest,
		Place: fmt.Sprintf("%d %s %s", d.Size, t.login.Fingerprint(), what),
		Write: func(ctx context.Context, w io.Writer) error {
			body, err := what.in(c.repository(t)).Fetch(ctx, d)
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

// What a registry can make Tags read.
const (
	maxTagPages = 1000
	tagPageSize = 1000
	maxTags     = 100_000
)

var errTooManyTags = fmt.Errorf("the repository has more than %d tags", maxTags)

// Tags returns the tags of the repository ref ("host/repository"), sorted by the registry. The error is a *fault.Error; more
// than 100000 tags are an ErrTooLarge.
func (c *Client) Tags(ctx context.Context, ref string, credentials Credentials) ([]string, error) {
	ctx, cancel := c.limited(ctx)
	defer cancel()
	t, err := c.locate(ref, credentials, false)
	if err != nil {
		return nil, err
	}
	tags, err := c.tags(ctx, t)
	if unauthorized(err) && t.login.Identity() == nil && !t.login.Anonymous() {
		anonymous := t
		anonymous.login = t.login.WithoutLogin()
		if open, again := c.tags(ctx, anonymous); again == nil {
			return open, nil
		}
	}
	return tags, t.explain(ctx, "list its tags", err)
}

func (c *Client) tags(ctx context.Context, t target) ([]string, error) {
	var tags []string
	err := c.repository(t).Tags(ctx, "", func(page []string) error {
		if len(tags)+len(page) > maxTags {
			return errTooManyTags
		}
		tags = append(tags, page...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tags, nil
}

// Latest returns the tag of the repository ref ("host/repository") with the highest version in the semver range, such as
// "1.x" or ">=1.2.0-0 <2", by the rules of Flux: tags that are no full version, with or without "v", do not count, and
// pre-releases only if the range names one. As no tag has a "+", its first "_" stands for it. The error is a *fault.Error: ErrInvalid for a malformed range, ErrNotFound if no
// tag fits.
func (c *Client) Latest(ctx context.Context, ref, versions string, credentials Credentials) (string, error) {
	constraint, err := semver.NewConstraint(versions)
	if err != nil {
		return "", invalid(ref, fmt.Sprintf("%q is not a range of semantic versions", versions), `write it like "1.x", "~1.2" or ">=1.2.0 <2.0.0"`)
	}
	tags, err := c.Tags(ctx, ref, credentials)
	if err != nil {
		return "", err
	}
	tag := highest(tags, constraint)
	if tag == "" {
		return "", fail(ErrNotFound, ref, fmt.Sprintf("none of its %d tags is a version in %q", len(tags), versions),
			"widen the range or push such a version; pre-releases count only if the range names one")
	}
	return tag, nil
}

// highest returns the tag of the highest version that fits, "" if there is none. Of equal versions the first name wins.
func highest(tags []string, fits *semver.Constraints) string {
	best, bestTag := (*semver.Version)(nil), ""
	for _, tag := range tags {
		v, err := semver.StrictNewVersion(strings.Replace(strings.TrimPrefix(tag, "v"), "_", "+", 1))
		if err != nil || !fits.Check(v) {
			continue
		}
		if best == nil || IsHigher(v, best) || !IsHigher(best, v) && tag < bestTag {
			best, bestTag = v, tag
		}
	}
	return bestTag
}

// IsHigher reports whether a is higher than b. Unlike in semver, builds of one version have an order, that of pre-releases, and are higher than the
// version without a build: repositories hold versions that differ in nothing else.
func IsHigher(a, b *semver.Version) bool {
	if order := a.Compare(b); order != 0 || a.Metadata() == "" || b.Metadata() == "" {
		return order > 0 || order == 0 && a.Metadata() != "" && b.Metadata() == ""
	}
	return semver.New(0, 0, 0, a.Metadata(), "").GreaterThan(semver.New(0, 0, 0, b.Metadata(), ""))
}
