// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"context"
	"slices"
)

// kindScan reads a JSON document as it passes and looks for a kind at its top. Decoders quote documents without one in their errors.
type kindScan struct {
	// wanted are the kinds that the document may have; nil is any. Decoders take the Go type from the document, so the scan has to see each kind that one may
	// read there.
	wanted []string

	depth int
	// found is whether the document has a kind, and foreign whether it has another one than wanted, or may be read in two ways.
	found, foreign             bool
	inString, escaped, isValue bool
	// hasEscape says that the current string has one. text is the start of the current string at depth 1, and key the last key there.
	hasEscape bool
	text, key []byte
}

const (
	kindKey = "kind"
	// maxText is how many bytes of a string are compared.
	maxText = 128
)

// kindsAboutKinds are those of the answers of API servers about the kinds that they serve.
var kindsAboutKinds = []string{"APIVersions", "APIGroupList", "APIGroup", "APIResourceList", "APIGroupDiscoveryList"}

type kindsKey struct{}

// WithKind refuses the answers to requests with the returned context that are neither errors nor, as JSON, objects of a kind.
func WithKind(ctx context.Context, kind string) context.Context {
	return context.WithValue(ctx, kindsKey{}, []string{kind})
}

// kindsWanted returns the kinds that an answer may have, nil for any.
func kindsWanted(ctx context.Context, kind answerKind) []string {
	if kind.isAboutKinds() {
		return kindsAboutKinds
	}
	wanted, _ := ctx.Value(kindsKey{}).([]string)
	return wanted
}

// accepts reads the next part of the document. It reports whether the document can still be an object.
func (s *kindScan) accepts(part []byte) bool {
	for _, c := range part {
		if s.found && s.wanted == nil {
			return true
		}
		if s.depth == 0 && !s.found && c != '{' && c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
		if s.step(c); s.foreign {
			return false
		}
	}
	return true
}

// misses reports whether the document has ended without a kind.
func (s *kindScan) misses() bool { return !s.found }

func (s *kindScan) step(c byte) {
	if s.inString {
		s.stepString(c)
		return
	}
	switch c {
	case '"':
		s.inString, s.hasEscape, s.text = true, false, s.text[:0]
	case '{', '[':
		s.depth++
	case '}', ']':
		s.depth--
	case ':':
		s.isValue = s.isValue || s.depth == 1
	case ',':
		s.isValue = s.isValue && s.depth != 1
	}
}

func (s *kindScan) stepString(c byte) {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped, s.hasEscape = true, true
	case c == '"':
		s.inString = false
		s.endString()
		return
	}
	if len(s.text) < maxText {
		s.text = append(s.text, c)
	}
}

func (s *kindScan) endString() {
	if s.depth != 1 {
		return
	}
	if !s.isValue {
		s.key = append(s.key[:0], s.text...)
		s.foreign = s.wanted != nil && s.hasEscape // which decoders read
		return
	}
	isKind := string(s.key) == kindKey
	switch {
	case s.wanted != nil && bytes.EqualFold(s.key, []byte(kindKey)): // of several keys decoders take the last, in whatever case
		s.found = true
		s.foreign = !isKind || !slices.Contains(s.wanted, string(s.text))
	case isKind && len(s.text) > 0:
		s.found = true
	}
}
