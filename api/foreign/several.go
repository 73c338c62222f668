// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

// Several reads documents that belong together. Each has a limit of its own.
type Several struct{}

// Afford does the same as the function.
func (*Several) Afford(text []byte) error { return Afford(text) }

// ToJSON does the same as the function.
func (*Several) ToJSON(text []byte) ([]byte, error) { return ToJSON(text) }

// Unmarshal does the same as the function.
func (*Several) Unmarshal(text []byte, into any) error { return Unmarshal(text, into) }

// Patterns checks regular expressions that belong together. Each has a limit of its own.
type Patterns struct{}

// Check does the same as CheckPattern.
func (*Patterns) Check(text string) error { return CheckPattern(text) }

// CheckWhole does the same as CheckWholePattern.
func (*Patterns) CheckWhole(text string) error { return CheckWholePattern(text) }
