// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const head = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"

func tree(document string, files ...string) fstest.MapFS {
	out := fstest.MapFS{"blueprint.yaml": {Data: []byte(document)}}
	for i := 0; i+1 < len(files); i += 2 {
		out[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return out
}

func run(t *testing.T, files fstest.MapFS, values map[string]any) *Report {
	t.Helper()
	report, err := Blueprint(context.Background(), files, Options{Values: values})
	require.NoError(t, err)
	return report
}

// byLine is a finding without the column, of which TestPlaces is about.
func byLine(f Finding) string {
	f.Column = 0
	return f.String()
}

func TestFindings(t *testing.T) {
	deploy := head + "deployExecutions:\n- name: a\n  type: GoTemplate\n  file: /deploy.yaml\n"
	spiff := head + "deployExecutions:\n- name: a\n  type: Spiff\n  file: deploy.yaml\n"
	inPlace := func(kind, text string) string {
		return head + "deployExecutions:\n- name: a\n  type: " + kind + "\n  template: |\n" + indent(text)
	}
	sub := head + "subinstallations:\n- file: sub.yaml\n"
	imports := head + "imports:\n- name: num\n  required: false\n  type: data\n"
	for name, test := range map[string]struct {
		files    fstest.MapFS
		values   map[string]any
		severity Severity
		want     string // file:line: field: part of the message
	}{
		"no document":             {fstest.MapFS{"other.yaml": {}}, nil, Error, "blueprint.yaml: the blueprint has no blueprint.yaml"},
		"no YAML":                 {tree(head + "imports: [\n"), nil, Error, "blueprint.yaml:3: blueprint.yaml is not YAML"},
		"wrong type":              {tree(head + "imports: 7\n"), nil, Error, "blueprint.yaml:3: field imports is a value of type number"},
		"wrong kind":              {tree("apiVersion: v1\nkind: Pod\n"), nil, Error, "a blueprint needs apiVersion"},
		"broken rule":             {tree(head + "imports:\n- name: a\n"), nil, Error, "blueprint.yaml:4: imports[0]: the kind of the import is not clear"},
		"unknown key":             {tree(head + "imports: []\nexport: []\n"), nil, Error, "blueprint.yaml:4: export: the key is unknown; did you mean exports?"},
		"unknown key inside":      {tree(head + "imports:\n- name: a\n  targetType: x\n  typo: 1\n"), nil, Error, "blueprint.yaml:6: imports[0].typo"},
		"key twice":               {tree(head + "imports: []\nimports: []\n"), nil, Error, "already"},
		"import twice":            {tree(head + "imports:\n- {name: a, schema: {}}\n- {name: a, schema: {}}\n"), nil, Warning, "blueprint.yaml:5: imports[1]: the import \"a\" is declared twice"},
		"export twice":            {tree(head + "exports:\n- {name: a, targetType: x}\n- {name: a, targetType: x}\n"), nil, Warning, "blueprint.yaml:5: exports[1]: the export \"a\" is declared twice"},
		"schema":                  {tree(imports + "  schema: {type: nothing}\n"), nil, Error, "blueprint.yaml:7: imports[0].schema: the schema cannot be used"},
		"reference without slash": {tree(imports + "  schema: {$ref: \"#definitions/a\", definitions: {a: {}}}\n"), nil, Warning, "blueprint.yaml:7: imports[0].schema: the reference \"#definitions/a\" has no slash and is read as \"#/definitions/a\""},
		"schema of local type":    {tree(head + "localTypes:\n  x: {minimum: a}\n"), nil, Error, "blueprint.yaml:4: localTypes.x: the schema cannot be used"},
		"missing local type":      {tree(imports + "  schema: {$ref: \"local://x\"}\n"), nil, Error, "imports[0].schema: the schema cannot be used"},
		"schema of a component":   {tree(imports + "  schema: {$ref: \"cd://resources/x\"}\n"), nil, Warning, "refers to a component"},
		"default":                 {tree(imports + "  schema: {type: integer}\n  default: {value: a}\n"), nil, Error, "blueprint.yaml:8: imports[0].default.value: the default does not match"},
		"useless default":         {tree(head + "imports:\n- name: num\n  type: data\n  schema: {}\n  default: {value: a}\n"), nil, Warning, "blueprint.yaml:7: imports[0].default: the default is never used"},
		"value":                   {tree(imports + "  schema: {type: integer}\n"), map[string]any{"num": "x"}, Error, "imports[0]: the value set for \"num\" does not match"},
		"value without import":    {tree(imports + "  schema: {}\n"), map[string]any{"m": 1}, Error, "there is no data import \"m\""},
		"missing template":        {tree(deploy), nil, Error, "blueprint.yaml:6: deployExecutions[0].file: file"},
		"unknown language":        {tree(strings.Replace(deploy, "GoTemplate", "Jinja", 1)), nil, Error, "blueprint.yaml:5: deployExecutions[0].type: the template language"},
		"executors of one state": {tree(head + "deployExecutions:\n- {type: Spiff, template: {}}\n- {type: Spiff, template: {}}\n"), nil, Warning,
			"deployExecutions: 2 executors have no name"},
		"file and template":      {tree(deploy + "  template: \"{}\"\n"), nil, Warning, "the template in place wins"},
		"template is not a text": {tree(head + "deployExecutions:\n- {name: a, type: GoTemplate, template: {a: b}}\n"), nil, Error, "a GoTemplate is a text"},
		"syntax of GoTemplate":   {tree(deploy, "deploy.yaml", "a: b\n{{ if }}\n"), nil, Error, "deploy.yaml:2: the template cannot be parsed: missing value for if"},
		"syntax in place":        {tree(inPlace("GoTemplate", "a: b\n{{ end }}\n")), nil, Error, "blueprint.yaml:8: deployExecutions[0].template: the template cannot be parsed"},
		"gone function":          {tree(deploy, "deploy.yaml", "a: {{ resolve .cd }}"), nil, Error, `deploy.yaml:1: the function "resolve" is gone; use getResourceContent`},
		"unknown function":       {tree(deploy, "deploy.yaml", "a: {{ list 1 |\n  quoted }}"), nil, Error, "deploy.yaml:2: the function \"quoted\" does not exist"},
		"function that is away":  {tree(deploy, "deploy.yaml", "{{ with env \"HOME\" }}{{ end }}"), nil, Error, "deploy.yaml:1: the function \"env\""},
		"missing include":        {tree(deploy, "deploy.yaml", "\n{{ include \"lib.tpl\" . }}"), nil, Error, "deploy.yaml:2: file \"lib.tpl\" is not in the blueprint"},
		"broken include":         {tree(deploy, "deploy.yaml", "{{ include \"lib.tpl\" . }}", "lib.tpl", "\n\n{{ x"), nil, Error, "lib.tpl:3:"},
		"missing readFile":       {tree(deploy, "deploy.yaml", "{{ define \"x\" }}{{ readFile \"x\" }}{{ end }}"), nil, Error, "deploy.yaml:1: file \"x\" is not in the blueprint"},
		"syntax of Spiff":        {tree(spiff, "deploy.yaml", "a: 1\nb: (( c ||| ))\n"), nil, Error, "deploy.yaml:2: the expression \"c |||\" cannot be parsed"},
		"Spiff is not YAML":      {tree(spiff, "deploy.yaml", "a: 1\nb: [\n"), nil, Error, "deploy.yaml:2: the template is not YAML"},
		"Spiff in place":         {tree(inPlace("Spiff", "a: (( b. ))\n")), nil, Error, "blueprint.yaml:7: deployExecutions[0].template: the expression"},
		"Spiff of many brackets": {tree(spiff, "deploy.yaml", "a: (( "+strings.Repeat("(", 30)+"1"+strings.Repeat(")", 30)+" ))\n"), nil, Error, "deploy.yaml:1: the expression is too long"},
		"missing sub":            {tree(sub), nil, Error, "blueprint.yaml:4: subinstallations[0].file"},
		"sub is not a template":  {tree(sub, "sub.yaml", "name: a\nimports: 5\n"), nil, Error, "sub.yaml: it cannot be read"},
		"sub of another kind":    {tree(sub, "sub.yaml", "name: a\nkind: Pod\n"), nil, Error, "sub.yaml:2: kind: the kind is \"Pod\""},
		"sub without blueprint":  {tree(sub, "sub.yaml", "name: a\n"), nil, Error, "sub.yaml:1: blueprint: the sub-installation has no blueprint"},
		"sub with unknown key":   {tree(sub, "sub.yaml", "name: a\nfoo: 1\nblueprint: {ref: \"cd://resources/x\"}\n"), nil, Error, "sub.yaml:2: foo: the key is unknown"},
		"sub with wrong ref":     {tree(sub, "sub.yaml", "name: a\nblueprint:\n  ref: cd://resource/x\n"), nil, Error, "sub.yaml:3: blueprint.ref:"},
		"sub with missing import": {tree(sub, "sub.yaml", "name: a\nblueprint: {ref: \"cd://resources/x\"}\nimports:\n  data:\n  - {name: x, dataRef: nobody}\n"), nil, Error,
			"blueprint.yaml:3: subinstallations:"},
		"blueprint in place": {tree(sub, "sub.yaml", "name: a\nblueprint:\n  filesystem:\n    blueprint.yaml: |\n      apiVersion: v1\n"), nil, Error,
			"sub.yaml:4: blueprint.filesystem[blueprint.yaml]: blueprint.yaml says apiVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			report := run(t, test.files, test.values)
			found := ""
			for _, f := range report.Findings {
				if f.Severity == test.severity && strings.Contains(byLine(f), test.want) {
					found = byLine(f)
				}
			}
			assert.NotEmpty(t, found, "no %s with %q in %v", test.severity, test.want, report.Findings)
			if test.severity == Error {
				assert.False(t, report.Valid())
			}
		})
	}
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    ") + "\n"
}

func TestNoFindings(t *testing.T) {
	report := run(t, tree(head+`
imports:
- {name: num, type: data, required: false, schema: {type: integer}, default: {value: 2}}
- {name: cluster, targetType: landscaper.gardener.cloud/kubernetes-cluster}
exports:
- {name: url, type: data, schema: {type: string}}
subinstallations:
- name: a
  blueprint: {ref: "cd://componentReferences/x/resources/blueprint"}
  imports: {data: [{name: num, dataRef: num}]}
deployExecutions:
- {name: a, type: GoTemplate, file: /deploy.yaml}
exportExecutions:
- {name: b, type: Spiff, template: {exports: {url: (( values.deployitems.item.url ))}}}
`, "deploy.yaml", "deployItems:\n- name: {{ include \"lib/name.tpl\" . | trim | quote }}\n  config: {{ toYaml .imports.cluster | nindent 4 }}",
		"lib/name.tpl", "{{ index .imports \"num\" }}"), map[string]any{"num": 3})
	assert.Empty(t, report.Findings)
	assert.True(t, report.Valid())
	assert.Equal(t, []int{2, 1, 2, 1}, []int{report.Imports, report.Exports, report.Executions, report.Subinstallations})
}

// TestWhatMostBlueprintsHave has the key for an editor's schema, and an executor without a name, as most published blueprints.
func TestWhatMostBlueprintsHave(t *testing.T) {
	report := run(t, tree(head+"jsonSchema: \"https://json-schema.org/draft/2019-09/schema\"\ndeployExecutions:\n- {type: Spiff, template: {}}\n"), nil)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, "blueprint.yaml:3: jsonSchema: the key is unknown and has no effect; check its spelling or remove it", byLine(report.Findings[0]))
	assert.True(t, report.Valid())
}

func TestIncludesThatIncludeEachOther(t *testing.T) {
	report := run(t, tree(head+"deployExecutions:\n- {name: a, type: GoTemplate, file: a.tpl}\n",
		"a.tpl", "{{ include \"b.tpl\" . }}", "b.tpl", "{{ include \"a.tpl\" . }}"), nil)
	assert.Empty(t, report.Findings)
}

func TestCancelledCheck(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Blueprint(ctx, tree(head), Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

// TestCorpusIsValid checks the blueprints of the guided tour where they lie.
func TestCorpusIsValid(t *testing.T) {
	dir := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("CORPUS NOT FOUND: %v; set FLUX_LANDSCAPER_CORPUS to its folder", err)
	}
	checked := 0
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "guided-tour"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "blueprint.yaml" {
			return err
		}
		report, err := Blueprint(context.Background(), os.DirFS(filepath.Dir(path)), Options{})
		checked++
		assert.True(t, report.Valid(), "%s: %v", path, report.Findings)
		return err
	}))
	assert.Positive(t, checked)
}

func FuzzBlueprint(f *testing.F) {
	f.Add([]byte(head+"imports:\n- {name: num, schema: {type: integer}}\n"), []byte("{{ include \"t\" . }}"), []byte("name: a"))
	f.Add([]byte(head+"deployExecutions:\n- {name: a, type: Spiff, file: t}\nsubinstallations: [{file: s}]\n"), []byte("a: (( b ))"), []byte("{blueprint: {filesystem: {}}}"))
	f.Fuzz(func(t *testing.T, document, text, sub []byte) {
		report, err := Blueprint(context.Background(), fstest.MapFS{"blueprint.yaml": {Data: document}, "t": {Data: text}, "s": {Data: sub}}, Options{})
		require.NoError(t, err)
		for _, finding := range report.Findings {
			assert.NotEmpty(t, finding.Message)
			assert.NotEmpty(t, finding.File)
		}
	})
}

var fencedYAML = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestDocumentedBlueprints checks each whole blueprint of docs/writing-blueprints.md.
func TestDocumentedBlueprints(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "writing-blueprints.md"))
	require.NoError(t, err)
	count := 0
	for _, block := range fencedYAML.FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], "kind: Blueprint") {
			count++
			assert.Empty(t, run(t, tree(block[1]), nil).Findings, block[1])
		}
	}
	assert.GreaterOrEqual(t, count, 3)
}

// A sub-installation may be the blueprint in a folder of the same artifact.
func TestFoldersOfTheArtifact(t *testing.T) {
	sub := func(path string) string {
		return head + "subinstallations:\n- name: db\n  blueprint: {path: " + path + "}\n"
	}
	for name, test := range map[string]struct {
		shop, db string
		want     []string
	}{
		"sound":               {sub("../db"), head, nil},
		"broken blueprint":    {sub("../db"), head + "imports: 7\n", []string{"../db/blueprint.yaml:3: field imports is a value of type number"}},
		"no folder":           {sub("../dv"), head, []string{`blueprint.yaml:5: subinstallations[0].blueprint.path: path "blueprints/dv" is no folder of the artifact`}},
		"out of the artifact": {sub("../../../db"), head, []string{"subinstallations[0].blueprint.path: path \"../../../db\" leads out of the artifact"}},
		"in a circle":         {sub("../db"), sub("../shop"), []string{"../db/blueprint.yaml:5: subinstallations[0].blueprint.path: the blueprint in blueprints/shop is a sub-installation of itself"}},
		"two ways":            {sub("../db, ref: cd://resources/x"), head, []string{"more than one of ref, filesystem and path is given"}},
	} {
		t.Run(name, func(t *testing.T) {
			artifact := fstest.MapFS{"blueprints/shop/blueprint.yaml": {Data: []byte(test.shop)}, "blueprints/db/blueprint.yaml": {Data: []byte(test.db)}}
			files, err := artifact.Sub("blueprints/shop")
			require.NoError(t, err)
			report, err := Blueprint(t.Context(), files, Options{Artifact: artifact, Folder: "blueprints/shop"})
			require.NoError(t, err)
			require.Len(t, report.Findings, len(test.want), report.Findings)
			for i, want := range test.want {
				assert.Contains(t, byLine(report.Findings[i]), want)
			}
		})
	}
}
