// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestInlineContents(t *testing.T) {
	files, err := Inline([]byte(`
blueprint.yaml: |
  apiVersion: landscaper.gardener.cloud/v1alpha1
  kind: Blueprint
number: 1000000
list: [a, 1]
empty: null
dir:
  deep: {file.txt: text}
as-yaml: {$type: yaml, value: {a: 1}}
as-json: {$type: json, value: {a: [1]}}
as-file: {$type: file, value: text}
as-dir: {$type: directory, value: {x: why}}
empty-dir: {}
as-link: {$type: symlink, value: dir/deep/file.txt}
binary: |
  ---Start Binary---
  AAECAw==
  ---End Binary---
`))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"number": "1000000\n", "list": "- a\n- 1\n", "empty": "null\n", "dir/deep/file.txt": "text", "as-yaml": "a: 1\n",
		"as-json": `{"a":[1]}`, "as-file": "text", "as-dir/x": "why", "as-link": "text", "binary": "\x00\x01\x02\x03",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fs.ReadFile(files, name)
			require.NoError(t, err)
			assert.Equal(t, want, string(got))
		})
	}
	_, err = Load(files)
	assert.NoError(t, err)
}

func TestInlineIsAFileSystem(t *testing.T) {
	files, err := Inline([]byte(`{a: "1", b: {c: "2", d: {e: "3"}}}`))
	require.NoError(t, err)
	assert.NoError(t, fstest.TestFS(files, "a", "b/c", "b/d/e"))
}

func TestInlineAcceptsDocumentAsMap(t *testing.T) {
	files, err := Inline([]byte(`{"blueprint.yaml":{"apiVersion":"landscaper.gardener.cloud/v1alpha1","kind":"Blueprint","exports":[{"name":"a","schema":{}}]}}`))
	require.NoError(t, err)
	b, err := Load(files)
	require.NoError(t, err)
	assert.Equal(t, "a", b.Exports[0].Name)
}

func TestInlineRefuses(t *testing.T) {
	many := map[string]string{}
	for i := range 10001 {
		many[fmt.Sprint(i)] = ""
	}
	tooMany, err := json.Marshal(many)
	require.NoError(t, err)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	tests := []struct{ name, text, want string }{
		{"no map", "[a]", "must be a map of file names"},
		{"nothing", "", "must be a map of file names"},
		{"no YAML", "a: b: c", "is not YAML"},
		{"parent", "..: x", `".." in directory . is not a file name`},
		{"slash", "a/b: x", "use a nested map"},
		{"unknown marker", "a: {$type: device, value: x}", `unknown $type "device"`},
		{"bad base64", "a: \"---Start Binary---\\n?\\n---End Binary---\"", "is not base64"},
		{"link away", "a: {$type: symlink, value: ../../etc/passwd}", "not a file of the blueprint"},
		{"link to nothing", "a: {$type: symlink, value: b}", "not a file of the blueprint"},
		{"links in a circle", "{a: {$type: symlink, value: b}, b: {$type: symlink, value: a}}", "leads back to itself"},
		{"deep", strings.Repeat("{a: ", 100) + "x" + strings.Repeat("}", 100), "levels deep"},
		{"many", string(tooMany), "more than 10000 entries"},
		{"large", "a: " + strings.Repeat("x", maxInlineBytes), "larger than"},
		{"aliases", bomb, "counting those behind aliases; write out less"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Inline([]byte(tt.text))
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func FuzzInline(f *testing.F) {
	f.Add([]byte("blueprint.yaml: {apiVersion: a}"))
	f.Add([]byte("a: {b: {$type: symlink, value: ../c}}\nc: x"))
	f.Add([]byte("a: \"---Start Binary---\\nAA==\\n---End Binary---\""))
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, err := Inline(raw)
		if err != nil {
			return
		}
		err = fs.WalkDir(files, ".", func(at string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				_, err = fs.ReadFile(files, at)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
