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

// digests computes the digests of the descriptors of a closure, each once. A descriptor is hashed with the digests of its references and
// of its resources filled in where they are missing.
type digests struct {
	closed *Closed
	// normalisation and hash are for references without a digest.
	normalisation, hash string
	nested              map[Key]NestedDigests
	known               map[digestKey]sum
	filled              map[Key]*Descriptor
	running             map[Key]bool
}

type digestKey struct {
	component           Key
	normalisation, hash string
}

// sum is a digest as bytes and as it is written.
type sum struct {
	bytes []byte
	spec  DigestSpec
}

func newDigests(closed *Closed, normalisation, hash string) *digests {
	out := &digests{
		closed: closed, normalisation: normalisation, hash: hash, nested: map[Key]NestedDigests{}, known: map[digestKey]sum{},
		filled: map[Key]*Descriptor{}, running: map[Key]bool{},
	}
	for _, n := range closed.Root.NestedDigests {
		out.nested[Key{n.Name, n.Version}] = n
	}
	return out
}

// of returns the digest of a descriptor, and the descriptor with all digests.
func (s *digests) of(d *Descriptor, normalisation, hash string) (sum, *Descriptor, error) {
	filled, err := s.fill(d)
	if err != nil {
		return sum{}, nil, err
	}
	key := digestKey{d.Key(), normalisation, hash}
	if out, done := s.known[key]; done {
		return out, filled, nil
	}
	function, err := hashOf(hash)
	if err != nil {
		return sum{}, nil, fmt.Errorf("component %s: %w", d.Key(), err)
	}
	normal, err := filled.Normalise(normalisation)
	if err != nil {
		return sum{}, nil, fmt.Errorf("component %s: %w", d.Key(), err)
	}
	h := function.New()
	h.Write(normal)
	out := sum{bytes: h.Sum(nil)}
	out.spec = DigestSpec{HashAlgorithm: hash, NormalisationAlgorithm: normalisation, Value: hex.EncodeToString(out.bytes)}
	s.known[key] = out
	return out, filled, nil
}

// fill returns a copy of the descriptor in which all digests are there; those of references that are there already are checked.
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
	normalisation, hash := s.normalisation, s.hash
	if r.Digest != nil {
		normalisation, hash = r.Digest.NormalisationAlgorithm, r.Digest.HashAlgorithm
	}
	computed, _, err := s.of(to, normalisation, hash)
	if err != nil {
		return err
	}
	if r.Digest != nil && !strings.EqualFold(r.Digest.Value, computed.spec.Value) {
		return fmt.Errorf("component %s is not the one that was referred to when the digest was made: it has digest %s instead of %.200q; "+
			"it was published again since, or an overwrite replaces it", to.Key(), computed.spec.Value, r.Digest.Value)
	}
	r.Digest = &computed.spec
	return nil
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
