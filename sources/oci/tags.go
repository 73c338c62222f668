// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// What a registry can make Tags read.
const (
	maxTagPages = 1000
	tagPageSize = 1000
	maxTags     = 100_000
)

var errTooManyTags = fmt.Errorf("the repository has more than %d tags", maxTags)

// Tags returns the tags of the repository ref ("host/repository"), sorted by the registry. The error is a *fault.Error; more
// than 100000 tags are an ErrTooLarge.
func (c *Client) Tags(ctx context.Context, ref string, credentials keychain.Credentials) ([]string, error) {
	ctx, cancel := c.registries.limited(ctx)
	defer cancel()
	t, err := c.registries.locate(ref, credentials, false)
	if err != nil {
		return nil, err
	}
	tags, err := c.registries.tags(ctx, t)
	if unauthorized(err) && t.login.Identity() == nil && !t.login.Anonymous() {
		anonymous := t
		anonymous.login = t.login.WithoutLogin()
		if open, again := c.registries.tags(ctx, anonymous); again == nil {
			return open, nil
		}
	}
	return tags, t.explain(ctx, "list its tags", err)
}

func (r *registries) tags(ctx context.Context, t target) ([]string, error) {
	var tags []string
	err := r.repository(t).Tags(ctx, "", func(page []string) error {
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
func (c *Client) Latest(ctx context.Context, ref, versions string, credentials keychain.Credentials) (string, error) {
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
