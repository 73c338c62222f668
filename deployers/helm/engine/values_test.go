// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/cli/values"
	helmgetter "helm.sh/helm/v3/pkg/getter"
)

// ofHelm is what the Helm library makes of files with values and then of expressions for --set.
func ofHelm(t *testing.T, files []string, sets ...string) string {
	t.Helper()
	options := values.Options{Values: sets}
	for i, content := range files {
		name := filepath.Join(t.TempDir(), string(rune('a'+i))+".yaml")
		require.NoError(t, os.WriteFile(name, []byte(content), 0o600))
		options.ValueFiles = append(options.ValueFiles, name)
	}
	merged, err := options.MergeValues(helmgetter.Providers{})
	require.NoError(t, err)
	return asJSON(t, merged)
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return string(raw)
}

func TestMergeValuesIsThatOfHelm(t *testing.T) {
	first, second := "a: {b: 1, c: [1, 2]}\nd: text\n", "a: {b: 2, e: null}\nf: true\n"
	for name, tc := range map[string]struct {
		files []string
		sets  [][2]string
	}{
		"nothing":      {},
		"one file":     {files: []string{first}},
		"order":        {files: []string{first, second}},
		"other order":  {files: []string{second, first}},
		"empty file":   {files: []string{first, "# nothing\n"}},
		"a path":       {files: []string{first}, sets: [][2]string{{"a.b", "7"}}},
		"a list":       {files: []string{first}, sets: [][2]string{{"a.c[3]", "x"}}},
		"a set":        {sets: [][2]string{{"a", "{x,y}"}}},
		"escaped":      {sets: [][2]string{{`a\.b.c`, `x\,y`}}},
		"several":      {sets: [][2]string{{"a", "1,b=2"}}},
		"nothing left": {files: []string{first}, sets: [][2]string{{"d", "null"}}},
	} {
		t.Run(name, func(t *testing.T) {
			var sources []ValuesSource
			for _, file := range tc.files {
				sources = append(sources, ValuesSource{Content: []byte(file)})
			}
			var sets []string
			for _, set := range tc.sets {
				sources = append(sources, ValuesSource{Path: set[0], Content: []byte(set[1])})
				sets = append(sets, set[0]+"="+set[1])
			}
			merged, err := MergeValues(sources, nil)
			require.NoError(t, err)
			assert.JSONEq(t, ofHelm(t, tc.files, sets...), asJSON(t, merged))
		})
	}
}

func TestMergeValuesLetsTheInlineOnesWin(t *testing.T) {
	inline := map[string]any{"a": map[string]any{"b": "inline"}}
	merged, err := MergeValues([]ValuesSource{
		{Content: []byte("a: {b: file, c: file}")}, {Path: "a.d", Content: []byte(`"1"`)}, {Path: "a.e", Content: []byte(`'true'`)},
	}, inline)
	require.NoError(t, err)
	assert.JSONEq(t, `{"a": {"b": "inline", "c": "file", "d": "1", "e": "true"}}`, asJSON(t, merged))
	assert.JSONEq(t, `{"a": {"b": "inline"}}`, asJSON(t, inline))
}

func TestMergeValuesRefusesWithoutShowing(t *testing.T) {
	for name, tc := range map[string]struct {
		source ValuesSource
		want   string
	}{
		"no YAML":       {ValuesSource{Content: []byte("secret: [")}, "is not a YAML file with keys and values"},
		"no map":        {ValuesSource{Content: []byte("secret")}, "is not a YAML file with keys and values"},
		"bomb":          {ValuesSource{Content: []byte(bombOf("secret"))}, "counting those behind aliases"},
		"bad path":      {ValuesSource{Path: "a[", Content: []byte("secret")}, "cannot be set at its targetPath"},
		"bad value":     {ValuesSource{Path: "a", Content: []byte("1,secret")}, "cannot be set at its targetPath"},
		"long list":     {ValuesSource{Path: "a[65000][65000]", Content: []byte("secret")}, "lists of more than"},
		"hidden digits": {ValuesSource{Path: `a[\6\5000][65000]`, Content: []byte("secret")}, "lists of more than"},
		"in the value":  {ValuesSource{Path: "a", Content: []byte("secret,b[65000]=,c[65000]=")}, "lists of more than"},
		"deep":          {ValuesSource{Path: "a" + strings.Repeat("[0]", 40), Content: []byte("secret")}, "nests lists"},
		"large":         {ValuesSource{Path: "a", Content: []byte("secret" + strings.Repeat("x", maxValuesBytes))}, "exceed 8 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.source.Name = "valuesFrom[0]"
			_, err := MergeValues([]ValuesSource{tc.source}, nil)
			require.ErrorContains(t, err, "valuesFrom[0]")
			require.ErrorContains(t, err, tc.want)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

// bombOf is YAML that stands for far more than it is.
func bombOf(text string) string {
	bomb := "a0: &a0 [" + text + "]\n"
	for i := 1; i < 10; i++ {
		last := "*a" + string(rune('0'+i-1))
		bomb += "a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.TrimSuffix(strings.Repeat(last+",", 10), ",") + "]\n"
	}
	return bomb
}

func TestErrorsShowNoTextOfSecrets(t *testing.T) {
	request := Request{Secrets: TextsOf(map[string]any{"a": "line one\nline two", "b": []any{float64(123456)}, "c": "no"})}
	cause := errors.New("got line two, 123456, bGluZSBvbmUKbGluZSB0d28= and no more")
	text := explain("install", request, &journal{}, cause).Error()
	assert.Contains(t, text, "got ***, ***, *** and no more")
}

func FuzzMergeValues(f *testing.F) {
	f.Add("a.b[1].c", "x,y=z", "a: {b: [1, {c: d}]}")
	f.Add(`a\.b`, `"'{1,2}`, "a: &x {b: 1}\nc: *x\n")
	f.Add("a[65535][1]", "", "null")
	f.Fuzz(func(t *testing.T, path, value, file string) {
		merged, err := MergeValues([]ValuesSource{
			{Name: "file", Content: []byte(file)}, {Name: "value", Path: path, Content: []byte(value)},
		}, map[string]any{"inline": "wins"})
		if err != nil {
			return
		}
		if merged["inline"] != "wins" {
			t.Fatalf("the inline value lost to %q, %q, %q", path, value, file)
		}
		if _, err := json.Marshal(merged); err != nil {
			t.Fatalf("the values cannot be written: %s", err)
		}
	})
}
