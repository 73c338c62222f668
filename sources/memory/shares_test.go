// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSharesGoFromWhoHasMost(t *testing.T) {
	s := NewShares[string]()
	s.Add("modest", "own", 1)
	old := s.Add("greedy", "old", 1)
	s.Add("greedy", "new", 2)
	anything := func(string) bool { return true }
	assert.Equal(t, old, s.Next(anything))
	s.Use(old, "greedy")
	assert.Equal(t, "new", s.Next(anything).Value, "it was not used for longer")
	assert.Equal(t, "own", s.Next(func(value string) bool { return value == "own" }).Value, "nothing else may go")
	assert.Nil(t, s.Next(func(string) bool { return false }))
}

func TestSharesAreChargedToWhoHasLeast(t *testing.T) {
	for name, c := range map[string]struct{ owner, by, want string }{
		"has less":              {"greedy", "modest", "modest"},
		"has more":              {"modest", "greedy", "modest"},
		"has nothing":           {"greedy", "new", "new"},
		"was nobody's":          {"", "greedy", "greedy"},
		"nobody in particular":  {"greedy", "", "greedy"},
		"the owner":             {"modest", "modest", "modest"},
		"alone with it, either": {"new", "another", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewShares[string]()
			s.Add("modest", "a", 1)
			s.Add("greedy", "b", 5)
			shared := s.Add(c.owner, "shared", 1)
			s.Use(shared, c.by)
			assert.Equal(t, c.want, shared.Owner())
			assert.EqualValues(t, 7, s.Weight())
			s.Remove(shared)
			assert.EqualValues(t, 6, s.Weight())
		})
	}
}
