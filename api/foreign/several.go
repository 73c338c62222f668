// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import "sync"

// Several reads documents that are kept in memory together. Each may have what Usual allows, and all that use aliases share that: many
// small texts must not stand for what a single one may not. The zero value is ready; it is not for use by several goroutines.
type Several struct{ used Limits }

// ToJSON does the same as the function.
func (s *Several) ToJSON(text []byte) ([]byte, error) {
	leave := enter(text)
	defer leave()
	if err := s.charge(text); err != nil {
		return nil, err
	}
	return toJSON(text)
}

// Unmarshal does the same as the function.
func (s *Several) Unmarshal(text []byte, into any) error {
	leave := sync.OnceFunc(enter(text))
	defer leave()
	if err := s.charge(text); err != nil {
		return err
	}
	return unmarshal(text, into, leave)
}

func (s *Several) charge(text []byte) error {
	size, err := Usual.afford(text, firstDocument)
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
