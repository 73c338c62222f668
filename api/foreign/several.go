// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

// Several reads documents that are kept in memory together. Each may have what Usual allows, and all that use aliases share that: many
// small texts must not stand for what a single one may not. The zero value is ready; it is not for use by several goroutines.
type Several struct {
	used Limits
	// passed is what Afford was asked about.
	passed Limits
}

// several are the limits of all texts that Afford is asked about together, aliases not written out.
var several = Limits{Values: 10 * Usual.Values, Bytes: 64 << 20}

// Afford counts a text that another library decodes, in all its documents, with the others. It says nothing about texts that are no YAML and have no
// aliases.
func (s *Several) Afford(text []byte) error {
	if err := s.charge(text, allDocuments); err != nil {
		return err
	}
	if s.passed = plus(s.passed, Limits{separators(text), len(text)}); !several.hold(s.passed) {
		return tooMuch("brings all that is read here above", several, textCure)
	}
	return nil
}

// ToJSON does the same as the function.
func (s *Several) ToJSON(text []byte) ([]byte, error) {
	if err := s.charge(text, firstDocument); err != nil {
		return nil, err
	}
	return toJSON(text)
}

// Unmarshal does the same as the function.
func (s *Several) Unmarshal(text []byte, into any) error {
	if err := s.charge(text, firstDocument); err != nil {
		return err
	}
	return unmarshal(text, into)
}

func (s *Several) charge(text []byte, documents int) error {
	size, err := Usual.afford(text, documents)
	if err != nil {
		return err
	}
	sum := plus(s.used, size)
	if size.Values > 0 && !Usual.hold(sum) {
		return tooMuch("brings all that is read here above", Usual, aliasCure)
	}
	s.used = sum
	return nil
}
