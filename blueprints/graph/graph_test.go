// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCycle(t *testing.T) {
	tests := []struct {
		name  string
		nodes map[string][]string
		want  []string
	}{
		{"none", map[string][]string{"a": {"b"}, "b": nil}, nil},
		{"diamond", map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": nil}, nil},
		{"unknown dependency", map[string][]string{"a": {"x"}}, nil},
		{"itself", map[string][]string{"a": {"a"}}, []string{"a", "a"}},
		{"two", map[string][]string{"a": {"b"}, "b": {"a"}}, []string{"a", "b", "a"}},
		{"behind a tail", map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}, []string{"b", "c", "d", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, Cycle(tt.nodes)) })
	}
}

func TestCycleOfALongChain(t *testing.T) {
	nodes := map[string][]string{}
	for i := range 100000 {
		nodes[fmt.Sprint(i)] = []string{fmt.Sprint((i + 1) % 100000)}
	}
	assert.Len(t, Cycle(nodes), 100001)
}
