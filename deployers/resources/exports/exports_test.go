// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package exports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestMalformedPathIsMisconfigured(t *testing.T) {
	for _, path := range []string{".a[", "{.a", "..a..b", "." + strings.Repeat("a", 2000), ".a[?(@.b==]"} {
		t.Run(path, func(t *testing.T) {
			_, err := Values(map[string]any{}, path)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, kit.CodesOf(err))
		})
	}
}

func TestNest(t *testing.T) {
	for name, keys := range map[string][]string{"through a value": {"a", "a.b"}, "over a map": {"a.b", "a"}, "twice": {"a.b", "a.b"}} {
		t.Run(name, func(t *testing.T) {
			into := map[string]any{}
			require.NoError(t, Nest(into, keys[0], "x"))
			err := Nest(into, keys[1], "x")
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, kit.CodesOf(err))
		})
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{".a.b", "{.a[?(@.b=='c')].d}", "a[*]", "$..a", "[0:1]", "{range .a}{.b}{end}", ".a['b','c']", "{1}{'x'}"} {
		f.Add(seed)
	}
	document := map[string]any{"a": []any{map[string]any{"b": "c", "d": int64(1)}, nil, 1.5, "x"}, "b": map[string]any{"c": true}}
	f.Fuzz(func(t *testing.T, path string) {
		_, found, err := Value(document, path)
		if err != nil {
			require.False(t, found)
			require.True(t, kit.IsUnrecoverable(err))
		}
	})
}
