// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	container "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	keys "github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	manifest1 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha1"
	manifest2 "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	mock "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// TestEditsOfKnownKeysAreNear edits every key of every document that a person writes. One edit of a key of three letters or more makes it near, and
// two edits of a key of five or more.
func TestEditsOfKnownKeysAreNear(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	schemas := map[string]*jsonschema.Schema{
		"blueprint": compile(t, "blueprint"), "template": compile(t, "installationtemplate"), "helm": compile(t, "helm-v1alpha1"),
		"manifest v1alpha1": compile(t, "manifest-v1alpha1"), "manifest v1alpha2": compile(t, "manifest-v1alpha2"),
		"container": compile(t, "container-v1alpha1"), "mock": compile(t, "mock-v1alpha1"),
	}
	for name, like := range map[string]any{
		"blueprint": model.Blueprint{}, "template": model.InstallationTemplate{}, "deploy item": v1alpha1.DeployItemTemplate{},
		"helm": helm.ProviderConfiguration{}, "manifest v1alpha1": manifest1.ProviderConfiguration{}, "manifest v1alpha2": manifest2.ProviderConfiguration{},
		"container": container.ProviderConfiguration{}, "mock": mock.ProviderConfiguration{},
	} {
		t.Run(name, func(t *testing.T) {
			tried := 0
			visit(reflect.TypeOf(like), func(leaf any) any { return leaf }, 0, func(level map[string]bool, key string, put func(any) any) {
				compiled := schemas[name]
				if compiled != nil {
					assert.NotContains(t, refusal(compiled, put(map[string]any{key: nil})), "additional properties", "%s is in the schema", key)
				}
				for _, edited := range editsOf(chance, key) {
					if level[edited] {
						continue
					}
					if compiled != nil {
						assert.Contains(t, refusal(compiled, put(map[string]any{edited: nil})), "additional properties '"+edited+"' not allowed")
					}
					raw, _ := json.Marshal(put(map[string]any{edited: nil}))
					near, _ := keys.Near(keys.Keys(raw, like))
					assert.Len(t, near, 1, "%s for %s in %s", edited, key, raw)
					tried++
				}
			})
			assert.Greater(t, tried, 20)
		})
	}
}

// TestSchemasTakeWhatIsValid has every blueprint, and every template of a sub-installation, of the corpus, the samples and docs/ in which nothing is wrong.
func TestSchemasTakeWhatIsValid(t *testing.T) {
	taken := map[string]int{}
	take := func(where, name string, text []byte) {
		var document any
		require.NoError(t, foreign.Unmarshal(text, &document), where)
		assert.Empty(t, refusal(compile(t, name), document), where)
		taken[name]++
	}
	blueprint := func(where string, files fs.FS) {
		report, err := Blueprint(t.Context(), files, Options{})
		require.NoError(t, err)
		loaded, err := model.Load(files)
		if !report.Valid() || err != nil {
			return
		}
		text, err := fs.ReadFile(files, model.FileName)
		require.NoError(t, err)
		take(where, "blueprint", text)
		for i := range loaded.Subinstallations {
			if file := loaded.Subinstallations[i].File; file != "" {
				text, err := fs.ReadFile(files, clean(file))
				require.NoError(t, err)
				take(where+file, "installationtemplate", text)
			}
		}
	}
	for _, dir := range []string{"../../config/samples", cmp.Or(os.Getenv("FLUX_LANDSCAPER_CORPUS"), "../../../shared/corpus")} {
		_ = filepath.WalkDir(dir, func(at string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == model.FileName {
				blueprint(at, os.DirFS(filepath.Dir(at)))
			}
			return err
		})
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "writing-blueprints.md"))
	require.NoError(t, err)
	for _, block := range fencedYAML.FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], "kind: Blueprint") {
			blueprint("docs", tree(block[1]))
		}
	}
	assert.GreaterOrEqual(t, taken["blueprint"], 5)
	t.Log(taken)
}

// refusal is what a schema has against a document.
func refusal(compiled *jsonschema.Schema, document any) string {
	if err := compiled.Validate(document); err != nil {
		return err.Error()
	}
	return ""
}

// compile reads one of the schemas that are exported.
func compile(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	file, err := Schemas().Open(name + ".json")
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	document, err := jsonschema.UnmarshalJSON(file)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource(name, document))
	compiled, err := compiler.Compile(name)
	require.NoError(t, err)
	return compiled
}

// editsOf returns words that are one or two edits away from a key.
func editsOf(chance *rand.Rand, key string) []string {
	if len(key) < 3 {
		return []string{strings.ToUpper(key)}
	}
	words := []string{strings.ToUpper(key[:1]) + key[1:]}
	for i := range key {
		words = append(words, key[:i]+key[i+1:], key[:i]+"z"+key[i:])
		if i+1 < len(key) && key[i] != key[i+1] {
			words = append(words, key[:i]+key[i+1:i+2]+key[i:i+1]+key[i+2:])
		}
	}
	if len(key) < 5 {
		return words
	}
	i, j := chance.IntN(len(key)), chance.IntN(len(key))
	once := key[:i] + "z" + key[i+1:]
	return append(words, once[:j]+"q"+once[j+1:])
}

// visit calls use for each key of a type, with the keys beside it and a function that makes a document with something else on that level.
func visit(of reflect.Type, put func(any) any, depth int, use func(level map[string]bool, key string, put func(any) any)) {
	pointer := reflect.PointerTo(of)
	if depth > 4 || pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) || of.Kind() == reflect.Interface {
		return
	}
	switch of.Kind() {
	case reflect.Pointer:
		visit(of.Elem(), put, depth, use)
	case reflect.Slice:
		visit(of.Elem(), func(leaf any) any { return put([]any{leaf}) }, depth+1, use)
	case reflect.Map:
		visit(of.Elem(), func(leaf any) any { return put(map[string]any{"any": leaf}) }, depth+1, use)
	case reflect.Struct:
		level, types := map[string]bool{}, map[string]reflect.Type{}
		collect(of, level, types)
		for key, field := range types {
			use(level, key, put)
			visit(field, func(leaf any) any { return put(map[string]any{key: leaf}) }, depth+1, use)
		}
	}
}

func collect(of reflect.Type, level map[string]bool, types map[string]reflect.Type) {
	for i := range of.NumField() {
		field := of.Field(i)
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case key == "-":
		case key == "":
			collect(field.Type, level, types)
		default:
			level[key], types[key] = true, field.Type
		}
	}
}
