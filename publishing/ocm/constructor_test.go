// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/interop"
)

const head = "name: example.com/shop\nversion: 1.0.0\nprovider: {name: me}\n"

// resource is a constructor with one resource.
func resource(fields string) string {
	return head + "resources:\n- name: rr\n  type: blob\n" + "  " + strings.ReplaceAll(strings.TrimSpace(fields), "\n", "\n  ") + "\n"
}

// directory writes files (path, content, …) into a new directory.
func directory(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(files[i+1]), 0o600))
	}
	return dir
}

func knownDigest(_ context.Context, reference string) (digest.Digest, error) {
	return digest.FromString(reference), nil
}

func buildAll(t *testing.T, dir, text string) (component.Version, error) {
	t.Helper()
	return buildWith(t, &Builder{Dir: dir, Digest: knownDigest}, text)
}

func buildWith(t *testing.T, b *Builder, text string) (component.Version, error) {
	t.Helper()
	read, err := ParseConstructor([]byte(text))
	require.NoError(t, err)
	workspace, err := publishing.NewWorkspace()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, workspace.Close()) })
	b.Workspace = workspace
	return b.Build(context.Background(), &read.Components[0])
}

func textOf(t *testing.T, c component.Content) string {
	t.Helper()
	raw, err := io.ReadAll(c.Reader())
	require.NoError(t, err)
	assert.Equal(t, c.Digest, digest.FromBytes(raw))
	assert.Equal(t, c.Size, int64(len(raw)))
	return string(raw)
}

func TestParseRefuses(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":               {"", "has no components"},
		"no YAML":               {"components: [", "is not YAML"},
		"a text":                {"hello", "the constructor, from line 1 on"},
		"wrong type":            {"components: 7", "the constructor, from line 1 on: field components is a number and must be a list"},
		"number as version":     {"\nname: example.com/a\nversion: 1.0\n", "the constructor, from line 2 on: field version is a number and must be a text; put it in quotes"},
		"no name":               {"version: 1.0.0", "components[0].name is missing"},
		"name without domain":   {"name: shop\nversion: 1.0.0\nprovider: me", "has no domain"},
		"no version":            {"name: example.com/a\nprovider: me", "components[0].version of component example.com/a is missing"},
		"no provider":           {"name: example.com/a\nversion: 1.0.0", "components[0].provider of component example.com/a is missing"},
		"twice":                 {"components:\n- &a {name: example.com/a, version: 1.0.0, provider: me}\n- *a\n", "components[1]: there is another component"},
		"resource without name": {head + "resources: [{type: x}]", "resources[0].name is missing"},
		"resource without type": {head + "resources: [{name: x}]", "resources[0].type of x is missing"},
		"neither":               {head + "resources: [{name: x, type: blob}]", "resources[0] x has neither input nor access"},
		"both":                  {resource("input: {type: file}\naccess: {type: none}"), "both input and access"},
		"external version":      {resource("relation: external\ninput: {type: utf8, text: a}"), ".version of rr is missing"},
		"binary":                {resource("input: {type: binary, data: '???'}"), "binary content is not in base64"},
		"relation":              {resource("relation: near\naccess: {type: none}"), "use local or external"},
		"source":                {head + "sources: [{name: x, type: git}]", "sources[0] x has neither"},
		"reference":             {head + "componentReferences: [{name: x}]", "componentReferences[0] needs name, componentName and version"},
		"access without type":   {resource("access: {imageReference: x}"), "type"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseConstructor([]byte(test.text))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestParseDocuments(t *testing.T) {
	read, err := ParseConstructor([]byte("---\n" + head + "---\ncomponents:\n- {name: example.com/a, version: 1.0.0, provider: me, references: [{name: s, componentName: example.com/shop, version: 1.0.0}]}\n---\n"))
	require.NoError(t, err)
	require.Len(t, read.Components, 2)
	assert.Equal(t, "example.com/shop", read.Components[0].Name)
	assert.Equal(t, "me", read.Components[1].Provider.Name)
	assert.Equal(t, "example.com/shop", read.Components[1].References[0].ComponentName)
}

func TestUnknownFieldsAreRefused(t *testing.T) {
	_, err := ParseConstructor([]byte(resource("input:\n  type: utf8\n  txt: a\naccess: null")))
	assert.EqualError(t, err, "line 9: field resources[0].input.txt is unknown; correct or remove it (digests are computed from the content)")
	_, err = ParseConstructor([]byte(resource("input: {type: utf8, text: a}\ndigest: {value: a}")))
	assert.ErrorContains(t, err, "field resources[0].digest is unknown")
}

func TestProvidersAsTextsAreWarnedAbout(t *testing.T) {
	read, err := ParseConstructor([]byte("name: example.com/a\nversion: 1.0.0\nprovider: me\n"))
	require.NoError(t, err)
	assert.Equal(t, []string{"components[0].provider of component example.com/a is a text, which the OCM tools refuse; write provider: {name: me}"}, read.Warnings)
}

func TestSchemaOfTheDescriptor(t *testing.T) {
	for written, want := range map[string]string{
		"v2": component.SchemaV2, "v3alpha1": component.SchemaV3, "ocm.software/v3alpha1": component.SchemaV3,
	} {
		v, err := buildAll(t, "", head+"meta: {configuredSchemaVersion: "+written+"}\n")
		require.NoError(t, err)
		assert.Equal(t, want, v.Descriptor.Schema)
	}
	_, err := ParseConstructor([]byte(head + "meta: {configuredSchemaVersion: v9}\n"))
	assert.ErrorContains(t, err, `meta.configuredSchemaVersion of component example.com/shop is "v9"; use v2 or v3alpha1`)
}

// TestNamesThatTheCLIRefuses builds what the OCM tools cannot read.
func TestNamesThatTheCLIRefuses(t *testing.T) {
	for want, text := range map[string]string{
		"component.name":                       "name: Example.com/shop\nversion: 1.0.0\nprovider: {name: me}\n",
		"component.version":                    "name: example.com/shop\nversion: 2026.01.07\nprovider: {name: me}\n",
		"component.resources[0].name":          head + "resources: [{name: Web, type: t, access: {type: none}}]",
		"component.resources[0].version":       head + "resources: [{name: web, version: latest, type: t, access: {type: none}}]",
		"component.resources[0].extraIdentity": head + "resources: [{name: web, type: t, access: {type: none}, extraIdentity: {imageName: x}}]",
		"component.labels[0].version":          head + "labels: [{name: l, value: 1, version: '1'}]",
	} {
		_, err := buildAll(t, "", text)
		assert.ErrorContains(t, err, "the OCM tools cannot read component", want)
		assert.ErrorContains(t, err, want)
	}
}

// TestConstructorsOfTheCLI builds what the OCM CLI built for the tests of formats, and compares the content.
func TestConstructorsOfTheCLI(t *testing.T) {
	src, err := fs.Sub(interop.Files(), "src")
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, src))
	read, err := ParseConstructor(interop.Read(t, "src/constructor.yaml"))
	require.NoError(t, err)
	assert.Empty(t, read.Warnings)
	for i := range read.Components {
		c := &read.Components[i]
		workspace, err := publishing.NewWorkspace()
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, workspace.Close()) })
		v, err := (&Builder{Dir: dir, Workspace: workspace}).Build(t.Context(), c)
		require.NoError(t, err)
		assert.Equal(t, plain(t, descriptorOfTheCLI(t, c)), plain(t, v.Descriptor), c.Name)
		for _, want := range interop.Contents(t, c.Name+":"+c.Version) {
			if want.Resource == "text" || want.Resource == "json" || want.Resource == "schema" || want.Resource == "hello" {
				wanted := map[string]string{"name": want.Resource}
				maps.Copy(wanted, want.Identity)
				made, err := v.Descriptor.FindResource(wanted)
				require.NoError(t, err)
				assert.Equal(t, want.Digest, "sha256:"+made.Digest.Value, want.Resource)
			}
		}
	}
}

func descriptorOfTheCLI(t *testing.T, c *Component) *component.Descriptor {
	t.Helper()
	collection, err := component.Open(interop.Unpack(t, "formats/ctf"))
	require.NoError(t, err)
	wanted, err := collection.Component(t.Context(), component.Key{Name: c.Name, Version: c.Version})
	require.NoError(t, err)
	return wanted
}

// plain is all of a descriptor but what has to differ: where content lies, and digests, which archives made at another time and components
// that were not published yet do not have in common.
func plain(t *testing.T, d *component.Descriptor) string {
	t.Helper()
	content := d.View(component.SchemaV3)
	delete(content, "repositoryContexts")
	metadata, spec := content["metadata"].(map[string]any), content["spec"].(map[string]any)
	delete(metadata, "creationTime")
	for _, kind := range []string{"resources", "references"} {
		for _, item := range spec[kind].([]any) {
			fields := item.(map[string]any)
			if access, _ := fields["access"].(map[string]any); access["localReference"] != nil {
				delete(fields, "access")
			}
			delete(fields, "digest")
		}
	}
	text, err := json.MarshalIndent(content, "", " ")
	require.NoError(t, err)
	return string(text)
}

func TestWordsInConstructorsAreTexts(t *testing.T) {
	read, err := ParseConstructor([]byte(head + "labels: [{name: a, value: {on: [n, y, no, yes, off, ON]}}]\n"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"on":["n","y","no","yes","off","ON"]}`, string(read.Components[0].Labels[0].Value))
	_, err = ParseConstructor([]byte(head + "labels: [{name: a, value: a, signing: yes}]\n"))
	require.ErrorContains(t, err, "labels.signing is a string and must be a bool")
}

func TestInputs(t *testing.T) {
	dir := directory(t, "file.txt", "text", "d/a", "1", "d/b.md", "2", "chart/Chart.yaml", "name: web\nversion: 1.2.3\n", "chart/.helmignore", "*.md\n", "chart/x.md", "", "c.tgz", "tgz", "s.yaml", "x: (( values.a ))\n")
	for name, test := range map[string]struct{ input, mediaType, content string }{
		"file":             {"{type: file, path: file.txt}", "application/octet-stream", "text"},
		"file in parent":   {"{type: file/v1, path: d/../file.txt, mediaType: text/x}", "text/x", "text"},
		"text":             {"{type: utf8, text: hello}", "text/plain", "hello"},
		"empty text":       {"{type: utf8, text: \"\"}", "text/plain", ""},
		"inline":           {"{type: inline, text: hello}", "text/plain", "hello"},
		"JSON":             {"{type: utf8, json: {b: 1, a: [1]}}", "application/json", `{"a":[1],"b":1}`},
		"indented JSON":    {"{type: utf8, formattedJson: {a: 1}}", "application/json", "{\n  \"a\": 1\n}"},
		"YAML":             {"{type: utf8, yaml: {a: 1}}", "application/yaml", "a: 1\n"},
		"binary":           {"{type: binary, data: AAEC}", "application/octet-stream", "\x00\x01\x02"},
		"binary as text":   {"{type: binary, data: '!plain'}", "application/octet-stream", "plain"},
		"spiff":            {"{type: spiff, path: s.yaml, values: {a: 1}}", "application/yaml", ""},
		"packaged chart":   {"{type: helm, path: c.tgz}", "application/vnd.cncf.helm.chart.content.v1.tar+gzip", "tgz"},
		"directory":        {"{type: dir, path: d}", "application/x-tar", ""},
		"zipped directory": {"{type: dir, path: d, compress: true}", "application/x-tgz", ""},
		"chart":            {"{type: helm, path: chart, version: 1.2.3}", "application/vnd.cncf.helm.chart.content.v1.tar+gzip", ""},
		"zipped file":      {"{type: file, path: file.txt, compress: true}", "application/gzip", ""},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := buildAll(t, dir, resource("input: "+test.input))
			require.NoError(t, err)
			require.Len(t, v.Blobs, 1)
			got := textOf(t, v.Blobs[0])
			if test.content != "" {
				assert.Equal(t, test.content, got)
			}
			assert.Equal(t, test.mediaType, v.Blobs[0].MediaType)
			made := v.Descriptor.Resources[0]
			assert.Equal(t, component.RelationLocal, made.Relation)
			assert.Equal(t, "1.0.0", made.Version)
			assert.Equal(t, &component.DigestSpec{HashAlgorithm: "SHA-256", NormalisationAlgorithm: "genericBlobDigest/v1", Value: v.Blobs[0].Digest.Encoded()}, made.Digest)
			access, err := component.ParseAccess(made.Access)
			require.NoError(t, err)
			assert.Equal(t, component.LocalBlob{LocalReference: v.Blobs[0].Digest.String(), MediaType: test.mediaType}, access)
		})
	}
}

func TestBuildRefuses(t *testing.T) {
	outside := directory(t, "secret", "x")
	dir := directory(t, "d/a", "", "huge", "", "nochart/a", "", "bad/Chart.yaml", "name: ../x", "chart/Chart.yaml", "name: a\nversion: 1.0.0")
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "d/link")))
	require.NoError(t, os.Truncate(filepath.Join(dir, "huge"), 1<<42))
	for name, test := range map[string]struct{ fields, want string }{
		"missing file":           {"input: {type: file, path: none}", "component example.com/shop:1.0.0: resource rr: input: file none cannot be read"},
		"no path":                {"input: {type: file}", "path is missing"},
		"directory as file":      {"input: {type: file, path: d}", "use type dir"},
		"huge file":              {"input: {type: file, path: huge}", "has 4398046511104 bytes"},
		"missing directory":      {"input: {type: dir, path: none}", "cannot be opened"},
		"link out":               {"input: {type: dir, path: d}", "file link cannot be read"},
		"link out, follow":       {"input: {type: dir, path: d, followSymlinks: true}", "file link cannot be read"},
		"unknown input":          {"input: {type: docker, path: x}", "input.type \"docker\" is not supported; push the image"},
		"npm":                    {"input: {type: npm}", "input.type \"npm\" is not supported; download the package"},
		"maven":                  {"input: {type: maven/v1}", "use type file, or name its URL"},
		"ocm":                    {"input: {type: ocm}", "componentReferences"},
		"other":                  {"input: {type: ftp}", "use file, dir, utf8"},
		"spiff with libraries":   {"input: {type: spiff, path: x, libraries: [a]}", "libraries are not supported"},
		"no repository":          {"input: {type: git}", "repository is missing"},
		"no content":             {"input: {type: utf8}", "there is no content"},
		"no reference":           {"input: {type: ociImage}", "path is missing"},
		"no variants":            {"input: {type: dockermulti}", "variants is missing"},
		"no URL":                 {"input: {type: wget}", "url is missing"},
		"no chart":               {"input: {type: helm, path: nochart}", "no readable Chart.yaml"},
		"missing chart":          {"input: {type: helm, path: none}", "chart none cannot be read"},
		"chart of bad name":      {"input: {type: helm, path: bad}", "no usable name"},
		"chart of other version": {"input: {type: helm, path: chart, version: 2.0.0}", "make them equal"},
		"chart of a repository":  {"input: {type: helm, path: chart, helmRepository: \"https://h\"}", "needs path, the name of the chart, and version"},
		"unknown access":         {"access: {type: nothing}", "access: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := buildAll(t, dir, resource(test.fields))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestDigestThatCannotBeFound(t *testing.T) {
	read, err := ParseConstructor([]byte(resource("access: {type: ociArtifact, imageReference: \"ghcr.io/a:1\"}")))
	require.NoError(t, err)
	cause := errors.New("registry is away")
	b := &Builder{Digest: func(context.Context, string) (digest.Digest, error) { return "", cause }}
	_, err = b.Build(context.Background(), &read.Components[0])
	assert.ErrorIs(t, err, cause)
	assert.ErrorContains(t, err, "--skip-digest-generation")
	b.Digest = nil
	v, err := b.Build(context.Background(), &read.Components[0])
	require.NoError(t, err)
	assert.Nil(t, v.Descriptor.Resources[0].Digest)
	assert.Equal(t, component.RelationExternal, v.Descriptor.Resources[0].Relation)
}

func TestEverythingOfAComponent(t *testing.T) {
	v, err := buildAll(t, t.TempDir(), `
name: example.com/shop
version: 1.0.0
provider: {name: me, labels: [{name: p, value: 1}]}
labels: [{name: l, value: {deep: [1.50, x]}, version: v1, signing: true}]
creationTime: "2026-01-01T00:00:00Z"
sources:
- {name: src, type: git, access: {type: gitHub, repoUrl: https://github.com/a/b, commit: 0b1481aa8ed0a6c34af84f779824a74200d5c1d6}}
componentReferences:
- {name: db, componentName: example.com/db, version: 2.0.0, extraIdentity: {role: b}, labels: [{name: x, value: y}]}
resources:
- {name: one, type: blob, version: 3.0.0, extraIdentity: {os: linux}, srcRefs: [{identitySelector: {name: src}}], input: {type: utf8, text: same}}
- {name: two, type: blob, relation: external, version: 1.0.0, input: {type: utf8, text: same}}
`)
	require.NoError(t, err)
	assert.Len(t, v.Blobs, 1, "equal blobs are kept once")
	text, err := v.Descriptor.Encode(component.SchemaV2)
	require.NoError(t, err)
	decoded, err := component.Decode(text)
	require.NoError(t, err)
	require.NoError(t, decoded.Validate())
	assert.Equal(t, "2026-01-01T00:00:00Z", decoded.CreationTime)
	assert.True(t, decoded.Labels[0].Signing)
	assert.Equal(t, component.Key{Name: "example.com/db", Version: "2.0.0"}, decoded.References[0].Key())
	assert.Equal(t, "3.0.0", decoded.Resources[0].Version)
	assert.Equal(t, map[string]string{"name": "src"}, decoded.Resources[0].SourceRefs[0].IdentitySelector)
	assert.Equal(t, component.RelationExternal, decoded.Resources[1].Relation)
}

func TestSubstitute(t *testing.T) {
	values, err := Values([]byte("A: 1\nB: {c: d}\n"), []string{"A=2", "E=x=y"})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"A": "2", "B": map[string]any{"c": "d"}, "E": "x=y"}, values)
	for name, test := range map[string]struct{ templater, text, want string }{
		"none":    {None, "a: ${A}", "a: ${A}"},
		"subst":   {Subst, "a: ${A} ${E}", "a: 2 x=y"},
		"default": {"", "a: ${F:=7}", "a: 7"},
		"literal": {Subst, "a: $${A}", "a: ${A}"},
		"go":      {Go, "a: {{ .B.c }}", `{"a":"d"}`},
		"spiff":   {Spiff, "a: (( values.B.c ))", `{"a":"d"}`},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := Substitute(context.Background(), []byte(test.text), test.templater, values)
			require.NoError(t, err)
			assert.Equal(t, test.want, strings.TrimSpace(string(out)))
		})
	}
}

func TestSubstituteRefuses(t *testing.T) {
	_, err := Substitute(context.Background(), []byte("a: ${NOBODY}"), Subst, nil)
	assert.ErrorContains(t, err, "${NOBODY}, which has no value; add NOBODY=VALUE")
	_, err = Substitute(context.Background(), []byte("a: ${"), Subst, nil)
	assert.ErrorContains(t, err, "malformed")
	_, err = Substitute(context.Background(), nil, "jinja", nil)
	assert.ErrorContains(t, err, "templater \"jinja\" is unknown")
	_, err = Values(nil, []string{"A"})
	assert.ErrorContains(t, err, "KEY=VALUE")
	_, err = Values([]byte("[]"), nil)
	assert.ErrorContains(t, err, "not a YAML object")
}

// TestCorpus builds the constructors of the guided tour where they lie.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("CORPUS NOT FOUND: %v; set FLUX_LANDSCAPER_CORPUS to its folder", err)
	}
	found := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "guided-tour"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "component-constructor.yaml" && entry.Name() != "components.yaml" {
			return err
		}
		found++
		t.Run(path, func(t *testing.T) { buildTwice(t, path) })
		return nil
	}))
	assert.Positive(t, found)
}

func buildTwice(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text, err = Substitute(context.Background(), text, "", nil)
	require.NoError(t, err)
	first, err := buildWith(t, &Builder{Dir: filepath.Dir(path)}, string(text))
	require.NoError(t, err)
	second, err := buildWith(t, &Builder{Dir: filepath.Dir(path)}, string(text))
	require.NoError(t, err)
	one, err := first.Image(component.SchemaV2)
	require.NoError(t, err)
	two, err := second.Image(component.SchemaV2)
	require.NoError(t, err)
	assert.Equal(t, one.Manifest.Digest, two.Manifest.Digest)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(resource("input: {type: utf8, text: a}")))
	f.Add([]byte(resource("access: {type: ociArtifact, imageReference: a}")))
	f.Add([]byte("components:\n- &a {name: example.com/a, version: 1.0.0, provider: {name: me, labels: [{name: a, value: {b: 1e9}}]}}\n- *a\n---\n" + head))
	f.Add([]byte("sources: [{srcRefs: [{}]}]\ncomponentReferences: [{labels: []}]"))
	for _, name := range interop.Names(f, "src/*.yaml") {
		f.Add(interop.Read(f, name))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := ParseConstructor(text)
		if err != nil {
			assert.NotEmpty(t, err.Error())
			return
		}
		for i := range read.Components {
			c := &read.Components[i]
			c.Resources, c.Sources = nil, nil // content of files is no matter of parsing
			v, err := (&Builder{}).Build(context.Background(), c)
			if err != nil {
				continue
			}
			encoded, err := v.Descriptor.Encode(component.SchemaV2)
			require.NoError(t, err)
			_, err = component.Decode(encoded)
			assert.NoError(t, err)
		}
	})
}
