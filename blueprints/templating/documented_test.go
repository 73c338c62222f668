// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

var (
	documentedInputs = regexp.MustCompile("(?s)```yaml inputs\n(.*?)```")
	// exampleRow has what, does, example and result; a pipe inside of code is written \|.
	exampleRow = regexp.MustCompile("(?m)^\\| [^|\n]*(?:\\\\\\|[^|\n]*)* \\| [^|\n]+ \\| `((?:[^`|]|\\\\\\|)+)` \\| `([^`]+)` \\|$")
)

// TestDocumentedFunctions runs each example of docs/writing-blueprints.md.
func TestDocumentedFunctions(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "docs", "writing-blueprints.md"))
	require.NoError(t, err)
	page := string(content)
	var inputs struct {
		Imports map[string]any    `json:"imports"`
		Files   map[string]string `json:"files"`
	}
	document, err := foreign.ToJSON([]byte(documentedInputs.FindStringSubmatch(page)[1]))
	require.NoError(t, err)
	require.NoError(t, foreign.DecodeJSON(document, &inputs))
	files := fstest.MapFS{}
	for name, text := range inputs.Files {
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	shop := map[string]any{"meta": map[string]any{"schemaVersion": "v2"}, "component": map[string]any{
		"name": "example.com/shop", "version": "v1.0.0",
		"repositoryContexts":  []any{map[string]any{"type": "OCIRegistry", "baseUrl": "r.example.com"}},
		"resources":           []any{map[string]any{"name": "image", "version": "1", "access": map[string]any{"imageReference": "r.example.com/shop:1"}}},
		"componentReferences": []any{map[string]any{"name": "db", "componentName": "example.com/db", "version": "v2.0.0"}},
	}}
	values := map[string]any{"imports": inputs.Imports, "cd": shop, "components": map[string]any{"components": []any{shop, databaseV2()}}}

	_, languages, found := strings.Cut(page, "\n## GoTemplate\n")
	require.True(t, found)
	goTemplate, spiff, found := strings.Cut(languages, "\n## Spiff\n")
	require.True(t, found)
	for kind, section := range map[string]string{KindGoTemplate: goTemplate, KindSpiff: spiff} {
		executor, err := For(kind)
		require.NoError(t, err)
		rows := exampleRow.FindAllStringSubmatch(section, -1)
		require.Len(t, rows, strings.Count(section, "\n| ")-1, "each row of the table but its head is an example")
		for _, row := range rows {
			t.Run(row[1], func(t *testing.T) {
				out, err := executor.Execute(t.Context(), Input{Source: strings.ReplaceAll(row[1], `\|`, "|"), Files: files, Values: values})
				require.NoError(t, err)
				assert.JSONEq(t, row[2], string(out.Document))
			})
		}
	}
}
