// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

// kindScan reads a JSON document as it passes and looks for a kind at its top. Decoders quote documents without one in their errors.
type kindScan struct {
	depth int
	// found is whether the document has a kind.
	found, inString, escaped, isValue bool
	// text is the start of the current string at depth 1, and key the last key there.
	text, key []byte
}

const kindKey = "kind"

// accepts reads the next part of the document. It reports whether the document can still be an object.
func (s *kindScan) accepts(part []byte) bool {
	for _, c := range part {
		if s.found {
			return true
		}
		if s.depth == 0 && c != '{' && c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return false
		}
		s.step(c)
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
		s.inString, s.text = true, s.text[:0]
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
		s.escaped = true
	case c == '"':
		s.inString = false
		s.endString()
		return
	}
	if len(s.text) <= len(kindKey) {
		s.text = append(s.text, c)
	}
}

func (s *kindScan) endString() {
	if s.depth != 1 {
		return
	}
	if !s.isValue {
		s.key = append(s.key[:0], s.text...)
		return
	}
	s.found = string(s.key) == kindKey && len(s.text) > 0
}
