// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package exports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/jsonpath"

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
			_, err := Values(nested(60), path)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, kit.CodesOf(err))
		})
	}
}

func TestPathSelectsSeveralKeys(t *testing.T) {
	found, err := Values(map[string]any{"a": map[string]any{"b": "x", "c": "y", "d": "z"}}, ".a['b','c']")
	require.NoError(t, err)
	assert.Equal(t, []any{"x", "y"}, found)
}

// TestPathsFindWhatKubectlFinds compares with the library that kubectl uses.
func TestPathsFindWhatKubectlFinds(t *testing.T) {
	document := map[string]any{
		"kind": "Shop", "none": nil, "empty": map[string]any{}, "count": int64(2), "ratio": 0.5, "open": true,
		"items": []any{
			map[string]any{"name": "a", "size": int64(1), "tags": []any{"x", "y"}},
			map[string]any{"name": "b", "size": int64(3), "tags": []any{}},
			map[string]any{"name": "c", "size": int64(5), "in": map[string]any{"name": "d"}},
		},
		"dotted.key": map[string]any{"name": "e"}, "rows": []any{[]any{int64(1), int64(2)}, []any{int64(3)}},
	}
	for _, path := range []string{
		".kind", "{.kind}", "kind", "$.kind", "@.count", ".none", ".none.deeper", ".empty", ".missing", ".missing.deeper", ".kind.deeper", "['kind']", ".items",
		".items[0].name", ".items[-1].name", ".items[-1:].name", ".items[0:2].name", ".items[:2].name", ".items[1:].name", ".items[::2].name", ".items[0:3:2].name",
		".items[3].name", ".items[-4].name", ".items[2:1].name", ".items[1:1].name", ".items[0:9].name", ".items[0:2:0].name", ".kind[0]", ".empty[0]",
		".items[*].name", ".items[*].tags[*]", ".*", ".items.*.name", ".items[0].*", ".rows[*][*]", ".rows[*][0]", ".none[0]", ".none.*", ".count.*",
		"..name", ".items..name", "..size", "..", ".items[2]..", "$..in.name", "..tags[0]", "..[*]", ".dotted\\.key.name",
		".items[0,2].name", ".items[0]['name','size']", "['kind','count']", ".items[0,7].name",
		".items[?(@.name=='b')].size", ".items[?(@.size>1)].name", ".items[?(@.size>=3)].name", ".items[?(@.size<3)].name", ".items[?(@.size<=3)].name",
		".items[?(@.size!=3)].name", ".items[?(@.in)].name", ".items[?(@.in.name=='d')].name", ".items[?(@.name==1)].size", ".items[?(@.missing==1)].size",
		".items[?(@.tags[*]=='x')].name", ".kind[?(@.a)]", ".none[?(@.a)]", ".items[?(@.tags)].name",
		"{.kind}{.count}", "{.kind}: {.count}!", "{.kind} and {.count}", "{range .items[*]}{.name}{.size}{end}", "{range .items[*]}{.name}{end}{.kind}",
		"{range .items[*]}{range .tags[*]}{@}{end}{.name}{end}", "{range .missing}{.name}{end}{.kind}", "{range .items[*]}{'x'}{end}", "{end}", "{.kind}{end}",
		"{1}", "{1.5}", "{true}", "{'x'}", "{unknown}", "{.items[0].name}{'-'}{.kind}",
	} {
		t.Run(path, func(t *testing.T) {
			var want []any
			library := jsonpath.New("").AllowMissingKeys(true)
			require.NoError(t, library.Parse(braced(path)))
			if sets, err := library.FindResults(document); err == nil {
				for _, set := range sets {
					for _, value := range set {
						want = append(want, withoutBytes(value.Interface())...)
					}
				}
			}
			found, err := Values(document, path)
			require.NoError(t, err)
			assert.ElementsMatch(t, want, found)
		})
	}
}

// withoutBytes leaves out what the library makes of a text when it looks for what is in it.
func withoutBytes(value any) []any {
	if _, isByte := value.(byte); isByte {
		return nil
	}
	return []any{value}
}

func TestNothingIsInAText(t *testing.T) {
	object := map[string]any{"data": map[string]any{"a": strings.Repeat("x", 1000)}}
	for _, path := range []string{".data.a.*", ".data.a[*]", ".data['a','a'].*", ".data.a..[*]"} {
		t.Run(path, func(t *testing.T) {
			found, err := Values(object, path)
			require.NoError(t, err)
			assert.Empty(t, found)
		})
	}
}

// TestAPathGoesThroughSoManyValues has objects as no API server stores them, and paths that see most of them again and again.
func TestAPathGoesThroughSoManyValues(t *testing.T) {
	many := make([]any, 10_000)
	for i := range many {
		many[i] = map[string]any{"b": []any{int64(1)}}
	}
	object := map[string]any{"a": many}
	again := strings.TrimSuffix(strings.Repeat("'a',", 60), ",")
	for name, tc := range map[string]struct{ path, problem string }{
		"once":              {".a[*].b[*]", ""},
		"a descent":         {"..b", ""},
		"again and again":   {"[" + again + "][*].b", "goes through more than 500000 values"},
		"in a filter":       {"[" + again + "][?(@.b)]", "goes through more than 500000 values"},
		"in ranges":         {"{range [" + again + "]}{[*].b}{end}", "goes through more than 500000 values"},
		"descents together": {"[" + again + "]..b", "goes through more than 500000 values"},
		"parts of it":       {"[" + again + "][0:9000].b", "goes through more than 500000 values"},
		"empty braces":      {"{range .a[*]}" + strings.Repeat("{}", 400), "goes through more than 500000 values"},
		"empty ranges":      {"{range .a[*]}" + strings.Repeat("{range}{end}", 80), "goes through more than 500000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Values(object, tc.path)
			if tc.problem == "" {
				require.NoError(t, err)
				assert.Len(t, found, len(many))
				return
			}
			require.ErrorContains(t, err, tc.problem)
			assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, kit.CodesOf(err))
		})
	}
}

func TestADescentEndsInADeepObject(t *testing.T) {
	for name, tc := range map[string]struct {
		depth   int
		problem string
	}{
		"as people write":    {maxDepth / 2, ""},
		"as nobody does":     {maxDepth/2 + 1, "is nested deeper than 100"},
		"as deep as JSON is": {4000, "is nested deeper than 100"},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := Values(nested(tc.depth), "..a")
			if tc.problem == "" {
				require.NoError(t, err)
				assert.Len(t, found, tc.depth)
				return
			}
			require.ErrorContains(t, err, tc.problem)
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
