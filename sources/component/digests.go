// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// digests computes the digests of the descriptors of a closure with one pair of algorithms, each once. A descriptor is hashed with the
// digests of its references computed anew, and with those of its resources filled in where they are missing.
type digests struct {
	closed              *Closed
	normalisation, hash string
	nested              map[Key]NestedDigests
	known               map[Key]sum
	filled              map[Key]*Descriptor
	running             map[Key]bool
}

// sum is a digest as bytes and as it is written.
type sum struct {
	bytes []byte
	spec  DigestSpec
}

func newDigests(closed *Closed, normalisation, hash string) *digests {
	out := &digests{
		closed: closed, normalisation: normalisation, hash: hash, nested: map[Key]NestedDigests{}, known: map[Key]sum{},
		filled: map[Key]*Descriptor{}, running: map[Key]bool{},
	}
	for _, n := range closed.Root.NestedDigests {
		out.nested[Key{n.Name, n.Version}] = n
	}
	return out
}

// of returns the digest of a descriptor, and the descriptor with all digests.
func (s *digests) of(d *Descriptor) (sum, *Descriptor, error) {
	filled, err := s.fill(d)
	if err != nil {
		return sum{}, nil, err
	}
	if out, done := s.known[d.Key()]; done {
		return out, filled, nil
	}
	function, err := hashOf(s.hash)
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
	out.spec = DigestSpec{HashAlgorithm: s.hash, NormalisationAlgorithm: s.normalisation, Value: hex.EncodeToString(out.bytes)}
	s.known[d.Key()] = out
	return out, filled, nil
}

// fill returns a copy of the descriptor in which all digests are there. Those of references that were made with the same algorithms are
// checked; others are replaced without a look.
func (s *digests) fill(d *Descriptor) (*Descriptor, error) {
	key := d.Key()
	switch {
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
		if err := s.fillReference(&out.References[i]); err != nil {
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

func (s *digests) fillReference(r *Reference) error {
	to, err := s.closed.Follow(r)
	if err != nil {
		return err
	}
	computed, _, err := s.of(to)
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

func (s *digests) sameAlgorithms(d *DigestSpec) bool {
	return d != nil && d.NormalisationAlgorithm == s.normalisation && d.HashAlgorithm == s.hash
}

func (s *digests) fillResource(owner Key, r *Resource) error {
	if r.Digest != nil || kindOf(r.Access.Type) == kindNone {
		return nil
	}
	for _, n := range s.nested[owner].Resources {
		if n.Name == r.Name && n.Version == r.Version && maps.Equal(n.ExtraIdentity, r.ExtraIdentity) {
			r.Digest = &n.Digest
			return nil
		}
	}
	return fmt.Errorf("resource %q of component %s has no digest, so no signature covers its content; publish it with a digest", r.Name, owner)
}
