// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestMalformedPathIsMisconfigured(t *testing.T) {
	for _, path := range []string{".a[", "{.a", "..a..b", "." + strings.Repeat("a", 2000), ".a[?(@.b==]"} {
		t.Run(path, func(t *testing.T) {
			_, err := ValuesAt(map[string]any{}, path)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, protocol.CodesOf(err))
		})
	}
}

// nested returns maps of lists in each other, with one entry each.
func nested(depth int) (object any) {
	for range depth {
		object = []any{map[string]any{"a": object}}
	}
	return object
}

// Each list of keys or indexes that selects the same twice doubles the work: this one never ends, and takes all memory.
func TestPathThatSelectsTheSameAgainAndAgainIsMisconfigured(t *testing.T) {
	for name, path := range map[string]string{
		"indexes":     strings.Repeat("[0,0].a", 40),
		"keys":        strings.Repeat("[0]['a','a']", 40),
		"in ranges":   strings.Repeat("{range [0,0]}{range .a}", 40),
		"in a filter": "[?(@" + strings.Repeat(".a[0,0]", 40) + "==1)]",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ValuesAt(nested(60), path)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, protocol.CodesOf(err))
		})
	}
}

func TestPathSelectsSeveralKeys(t *testing.T) {
	found, err := ValuesAt(map[string]any{"a": map[string]any{"b": "x", "c": "y", "d": "z"}}, ".a['b','c']")
	require.NoError(t, err)
	assert.Equal(t, []any{"x", "y"}, found)
}

func TestPathsFindNothingInOtherShapes(t *testing.T) {
	document := map[string]any{"kind": "Shop", "none": nil, "empty": map[string]any{}, "items": []any{map[string]any{"name": "a"}}}
	for _, path := range []string{
		".missing.deeper", ".kind.deeper", ".none.deeper", ".none[0]", ".none.*", ".kind[0]", ".empty[0]", ".items[3].name", ".items[0:2:0].name",
		".kind[?(@.a)]", ".none[?(@.a)]", ".items[?(@.name==1)]", "{range .missing}{[0]}{end}", "{end}", "{unknown}",
	} {
		t.Run(path, func(t *testing.T) {
			found, err := ValuesAt(document, path)
			require.NoError(t, err)
			assert.Empty(t, found)
		})
	}
}

func TestNothingIsInAText(t *testing.T) {
	object := map[string]any{"data": map[string]any{"a": strings.Repeat("x", 1000)}}
	for _, path := range []string{".data.a.*", ".data.a[*]", ".data['a','a'].*", ".data.a..[*]"} {
		t.Run(path, func(t *testing.T) {
			found, err := ValuesAt(object, path)
			require.NoError(t, err)
			assert.Empty(t, found)
		})
	}
}

func TestNest(t *testing.T) {
	for name, keys := range map[string][]string{"through a value": {"a", "a.b"}, "over a map": {"a.b", "a"}, "twice": {"a.b", "a.b"}} {
		t.Run(name, func(t *testing.T) {
			into := map[string]any{}
			require.NoError(t, Nest(into, keys[0], "x"))
			err := Nest(into, keys[1], "x")
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, protocol.CodesOf(err))
		})
	}
}

func FuzzPath(f *testing.F) {
	for _, seed := range []string{".a.b", "{.a[?(@.b=='c')].d}", "a[*]", "$..a", "[0:1]", "{range .a}{.b}{end}", ".a['b','c']", "{1}{'x'}"} {
		f.Add(seed)
	}
	document := map[string]any{"a": []any{map[string]any{"b": "c", "d": int64(1)}, nil, 1.5, "x"}, "b": map[string]any{"c": true}}
	f.Fuzz(func(t *testing.T, path string) {
		_, found, err := ValueAt(document, path)
		if err != nil {
			require.False(t, found)
			require.True(t, protocol.IsUnrecoverable(err))
		}
	})
}
