// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// digests computes the digests of the descriptors of a closure with one pair of algorithms, each once. A descriptor is hashed with the
// digests of its references computed anew, and with those of its resources filled in where they are missing.
type digests struct {
	closed              *component.Closed
	normalisation, hash string
	nested              map[component.Key]resourceDigests
	known               map[component.Key]sum
	filled              map[component.Key]*component.Descriptor
	running             map[component.Key]bool
}

// sum is a digest as bytes and as it is written.
type sum struct {
	bytes []byte
	spec  component.DigestSpec
}

func newDigests(closed *component.Closed, normalisation, hash string) *digests {
	out := &digests{
		closed: closed, normalisation: normalisation, hash: hash, nested: map[component.Key]resourceDigests{}, known: map[component.Key]sum{},
		filled: map[component.Key]*component.Descriptor{}, running: map[component.Key]bool{},
	}
	for _, n := range closed.Root.NestedDigests {
		out.nested[component.Key{Name: n.Name, Version: n.Version}] = resourceDigestsOf(n.Resources)
	}
	return out
}

// resourceDigests are digests of resources by what names these.
type resourceDigests map[string]component.DigestSpec

// resourceDigestsOf keeps the first digest of each resource.
func resourceDigestsOf(resources []component.NestedResourceDigest) resourceDigests {
	out := make(resourceDigests, len(resources))
	for _, n := range resources {
		id := resourceID(n.Name, n.Version, n.ExtraIdentity)
		if _, isKnown := out[id]; !isKnown {
			out[id] = n.Digest
		}
	}
	return out
}

// resourceID is what names a resource as one text; no extra identity is the same as an empty one.
func resourceID(name, version string, extraIdentity map[string]string) string {
	return fmt.Sprintf("%q %q %q", name, version, extraIdentity)
}

// of returns the digest of a descriptor, and the descriptor with all digests.
func (s *digests) of(ctx context.Context, d *component.Descriptor) (sum, *component.Descriptor, error) {
	filled, err := s.fill(ctx, d)
	if err != nil {
		return sum{}, nil, err
	}
	if out, done := s.known[d.Key()]; done {
		return out, filled, nil
	}
	function, err := component.HashOf(s.hash)
	if err != nil {
		return sum{}, nil, fmt.Errorf("component %s: %w", d.Key(), err)
	}
	normal, err := filled.Normalise(s.normalisation)
	if err != nil {
		return sum{}, nil, fmt.Errorf("component %s: %w", d.Key(), err)
	}
	h := function.New()
	h.Write(normal)
	out := sum{bytes: h.Sum(nil)}
	out.spec = component.DigestSpec{HashAlgorithm: s.hash, NormalisationAlgorithm: s.normalisation, Value: hex.EncodeToString(out.bytes)}
	s.known[d.Key()] = out
	return out, filled, nil
}

// fill returns a copy of the descriptor in which all digests are there. Those of references that were made with the same algorithms are
// checked; others are replaced without a look.
func (s *digests) fill(ctx context.Context, d *component.Descriptor) (*component.Descriptor, error) {
	key := d.Key()
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case s.filled[key] != nil:
		return s.filled[key], nil
	case s.running[key]:
		return nil, fmt.Errorf("component %s refers to itself through its references, so it cannot have a signature; break the circle", key)
	}
	s.running[key] = true
	defer delete(s.running, key)
	out := *d
	out.References = slices.Clone(d.References)
	for i := range out.References {
		if err := s.fillReference(ctx, &out.References[i]); err != nil {
			return nil, fmt.Errorf("component %s, reference %q: %w", key, out.References[i].Name, err)
		}
	}
	out.Resources = slices.Clone(d.Resources)
	for i := range out.Resources {
		if err := s.fillResource(key, &out.Resources[i]); err != nil {
			return nil, err
		}
	}
	s.filled[key] = &out
	return &out, nil
}

func (s *digests) fillReference(ctx context.Context, r *component.Reference) error {
	to, err := s.closed.Follow(r)
	if err != nil {
		return err
	}
	computed, _, err := s.of(ctx, to)
	if err != nil {
		return err
	}
	if s.sameAlgorithms(r.Digest) && !strings.EqualFold(r.Digest.Value, computed.spec.Value) {
		return fmt.Errorf("component %s is not the one that was referred to when the digest was made: it has digest %s instead of %.200q; "+
			"it was published again since, or an overwrite replaces it", to.Key(), computed.spec.Value, r.Digest.Value)
	}
	r.Digest = &computed.spec
	return nil
}

func (s *digests) sameAlgorithms(d *component.DigestSpec) bool {
	return d != nil && d.NormalisationAlgorithm == s.normalisation && d.HashAlgorithm == s.hash
}

func (s *digests) fillResource(owner component.Key, r *component.Resource) error {
	if r.Digest != nil || !r.HasContent() {
		return nil
	}
	if found, isKnown := s.nested[owner][resourceID(r.Name, r.Version, r.ExtraIdentity)]; isKnown {
		r.Digest = &found
		return nil
	}
	return fmt.Errorf("resource %q of component %s has no digest, so no signature covers its content; publish it with a digest", r.Name, owner)
}
