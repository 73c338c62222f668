// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// objects are manifests of API objects, with what every document has left out.
func objects(texts ...string) string {
	for i, text := range texts {
		if !strings.HasPrefix(text, "apiVersion:") {
			texts[i] = "apiVersion: landscaper.gardener.cloud/v1alpha1\n" + text
		}
	}
	return strings.Join(texts, "---\n")
}

// landscapeOf reports about files (path, content, …) of a repository.
func landscapeOf(t *testing.T, files ...string) *Report {
	t.Helper()
	tree := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		tree[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	report, err := Landscape(t.Context(), []Place{{Artifact: tree, Path: ".", Name: "."}})
	require.NoError(t, err)
	return report
}

func texts(report *Report) []string {
	var all []string
	for _, f := range report.Findings {
		all = append(all, string(f.Severity)+" "+f.String())
	}
	return all
}

const (
	webBlueprint = head + "imports:\n- {name: zone, schema: {type: string}}\n- {name: cluster, targetType: kubernetes-cluster}\n- {name: size, required: false, schema: {type: integer}}\n" +
		"exports:\n- {name: url, schema: {type: string}}\nexportExecutions:\n- {name: a, type: Spiff, template: {exports: {url: x}}}\n"
	zone    = "kind: DataObject\nmetadata: {name: zone, namespace: shop}\ndata: eu\n"
	cluster = "kind: Target\nmetadata: {name: cluster, namespace: shop}\nspec: {type: landscaper.gardener.cloud/kubernetes-cluster}\n"
	config  = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config, namespace: shop}\ndata: {size: \"3\", zone: eu}\n"
	web     = `kind: Installation
metadata:
  name: web
  namespace: shop
spec:
  imports:
    data:
    - name: zone
      dataRef: zone
    targets:
    - name: cluster
      target: cluster
  exports:
    data: []
  blueprint:
    sourceRef: {kind: GitRepository, name: shop}
    path: ./blueprints/web
`
)

// TestLandscape changes one thing of a landscape in which nothing is wrong.
func TestLandscape(t *testing.T) {
	const at = "installations/web.yaml"
	other := strings.NewReplacer("name: web", "name: other", "dataRef: zone", "dataRef: web-url", "data: []", "data: [{name: url, dataRef: zone-of-other}]")
	for name, test := range map[string]struct {
		replace, with string   // in the manifest of the Installation
		files         []string // that come in addition, or in place of others
		want          []string // severity file:line:column: field: message; nothing is wrong where it is empty
	}{
		"nothing is wrong":         {},
		"what Flux fills in":       {"dataRef: zone", "dataRef: ${zone}", nil, nil},
		"unknown key":              {"  imports:", "  import:", nil, []string{`needs import "zone"`, `needs import "cluster"`, `error ` + at + `:7:3: spec.import: the key is unknown; did you mean spec.imports?`}},
		"unknown kind":             {"kind: Installation", "kind: Instalation", nil, []string{`error ` + at + `:2:1: kind: there is no kind "Instalation" in landscaper.gardener.cloud; did you mean "Installation"?`}},
		"rule of the API":          {"name: zone\n", "name: cluster\n", nil, []string{`needs import "zone" of type data`, `spec.imports.targets[0].name: Duplicate value: "cluster"`}},
		"value of another type":    {"namespace: shop", "labels: 7", nil, []string{`error ` + at + `:5:3: metadata.labels: it cannot be read: write an object`}},
		"no name":                  {"  name: web\n", "", nil, []string{`error ` + at + `:3:1: metadata.name: the object has no name; give it one`}},
		"schema of the kind":       {"path: ./blueprints/web", "path: ./blueprints/web\n  deletionPolicy: Keep", nil, []string{`error ` + at + `:19:3: spec.deletionPolicy: it must be one of Uninstall, Orphan`}},
		"no YAML":                  {"spec:", "spec: [", nil, []string{`error ` + at + `:7: it is not YAML`}},
		"typo of a DataObject":     {"dataRef: zone", "dataRef: zon", nil, []string{`warning ` + at + `:10:7: spec.imports.data[0].dataRef: there is no DataObject "zon": no file has it, and no Installation here exports it; did you mean "zone"?`}},
		"no such DataObject":       {"dataRef: zone", "dataRef: nowhere", nil, []string{`there is no DataObject "nowhere": no file has it, and no Installation here exports it; add it, unless it is in the cluster`}},
		"no such Target":           {"target: cluster", "target: fence", nil, []string{`warning ` + at + `:13:7: spec.imports.targets[0].target: there is no Target "fence"`}},
		"Target of a TargetSync":   {"target: cluster", "target: fence", []string{"sync.yaml", objects("kind: TargetSync\nmetadata: {name: s, namespace: shop}\nspec: {sourceNamespace: x, secretRef: {name: s}}\n")}, nil},
		"another namespace":        {"", "", []string{"zone.yaml", objects(strings.Replace(zone, "namespace: shop", "namespace: eu", 1))}, []string{`DataObject eu/zone is in another namespace, which imports do not reach`}},
		"no namespace":             {"  namespace: shop\n", "", nil, nil},
		"ConfigMap":                {"dataRef: zone", "configMapRef: {name: config, key: zone}", nil, nil},
		"no such ConfigMap":        {"dataRef: zone", "configMapRef: {name: configs, key: zone}", nil, []string{`there is no ConfigMap "configs": no file has it; did you mean "config"?`}},
		"no such key":              {"dataRef: zone", "configMapRef: {name: config, key: zon}", nil, []string{`error ` + at + `:10:36: spec.imports.data[0].configMapRef.key: ConfigMap shop/config (config.yaml:3) has no key "zon"; add it there, or name another one`}},
		"generated ConfigMap":      {"dataRef: zone", "configMapRef: {name: made, key: zone}", []string{"kustomization.yaml", "configMapGenerator: [{name: made}]\n"}, nil},
		"Secret that is not there": {"dataRef: zone", "secretRef: {name: zone, key: zone}", nil, nil},
		"required import":          {"- name: zone\n", "- name: zon\n", nil, []string{`error ` + at + `:7:3: spec.imports: the blueprint of this Installation needs import "zone" of type data`, `warning ` + at + `:9:7: spec.imports.data[0].name: the blueprint of this Installation has no import "zon", so this one has no effect; did you mean "zone"?`}},
		"import of another type":   {"target: cluster", "targets: [cluster]", nil, []string{`error ` + at + `:7:3: spec.imports: the blueprint of this Installation needs import "cluster" of type target; add it to imports.targets`}},
		"import by a mapping":      {"  exports:", "  importDataMappings: {zone: eu}\n  exports:", nil, nil},
		"imports of a parent":      {"target: cluster", "targetMapRef: cluster", nil, []string{`needs import "cluster" of type target`, `error ` + at + `:12:7: spec.imports.targets[0]: targetListRef and targetMapRef name imports of a parent`}},
		"value against schema":     {"", "", []string{"zone.yaml", objects(strings.Replace(zone, "data: eu", "data: 7", 1))}, []string{`error zone.yaml:4:1: data: the value does not match the schema of import "zone" of Installation shop/web: (root): must be of type string, but is of type number`}},
		"value that SOPS seals":    {"", "", []string{"zone.yaml", objects(strings.Replace(zone, "data: eu", "data: 7\nsops: {version: 3}", 1))}, nil},
		"type in an Environment":   {"", "", []string{"east.yaml", objects("kind: Environment\nmetadata: {name: east}\nspec: {namespace: 7}\n")}, []string{`error east.yaml:4:1: spec: it misses hostTarget, landscaperClusterConfig`, `error east.yaml:4:8: spec.namespace: it cannot be read: write a text`}},
		"text against schema":      {"- name: zone\n", "- name: size\n      configMapRef: {name: config, key: zone}\n    - name: zone\n", nil, []string{`error config.yaml:4:19: data[zone]: the value does not match the schema of import "size" of Installation shop/web: (root): must be of type integer, but is of type string`}},
		"type of a Target":         {"", "", []string{"cluster.yaml", objects(strings.Replace(cluster, "kubernetes-cluster", "other", 1))}, []string{`error ` + at + `:13:7: spec.imports.targets[0].target: Target shop/cluster (cluster.yaml:3) is of type "landscaper.gardener.cloud/other", and import "cluster" of the blueprint needs one of type "landscaper.gardener.cloud/kubernetes-cluster"`}},
		"undeclared export":        {"data: []", "data: [{name: ul, dataRef: x}]", nil, []string{`error ` + at + `:15:13: spec.exports.data[0].name: the blueprint of this Installation has no data export "ul"; did you mean "url"?`, "no Installation here imports"}},
		"unused export":            {"data: []", "data: [{name: url, dataRef: web-url}]", nil, []string{`warning ` + at + `:15:24: spec.exports.data[0].dataRef: no Installation here imports DataObject "web-url"; remove the export, unless somebody else reads it`}},
		"export over a file":       {"data: []", "data: [{name: url, dataRef: zone}]", nil, []string{`the Installations wait for each other`, `warning ` + at + `:15:24: spec.exports.data[0].dataRef: DataObject shop/zone is also in zone.yaml:3, and the two would overwrite each other`}},
		"data flows": {"data: []", "data: [{name: url, dataRef: web-url}]", []string{"other.yaml", objects(other.Replace(web))},
			[]string{`warning other.yaml:15:24: spec.exports.data[0].dataRef: no Installation here imports DataObject "zone-of-other"`}},
		"cycle": {"data: []", "data: [{name: url, dataRef: web-url}]", []string{"other.yaml", objects(strings.NewReplacer("zone-of-other", "zone").Replace(other.Replace(web))), "zone.yaml", ""},
			[]string{`error other.yaml:10:7: spec.imports.data[0].dataRef: the Installations wait for each other: Installation shop/other → Installation shop/web → Installation shop/other; take one of these imports out`}},
		"exported twice": {"data: []", "data: [{name: url, dataRef: twice}]", []string{"installations/z.yaml", objects(strings.NewReplacer("name: web", "name: z", "data: []", "data: [{name: url, dataRef: twice}]").Replace(web))},
			[]string{"no Installation here imports", `error installations/z.yaml:15:24: spec.exports.data[0].dataRef: DataObject "twice" is already exported by Installation shop/web (` + at + `:4); change one of the two exports`, "no Installation here imports"}},
		"same object twice":        {"", "", []string{"zone.yaml", objects(zone, zone)}, []string{`error zone.yaml:8:12: metadata.name: DataObject shop/zone is also in zone.yaml:3; remove one, unless each is for another cluster`}},
		"same object in two":       {"", "", []string{"prod/zone.yaml", objects(zone)}, []string{`warning zone.yaml:3:12: metadata.name: DataObject shop/zone is also in prod/zone.yaml:3`}},
		"patch of Kustomize":       {"", "", []string{"prod/kustomization.yaml", "patches: [{path: web.yaml}]\n", "prod/web.yaml", objects("kind: Installation\nmetadata: {name: web, namespace: shop}\nspec: {suspend: true}\n")}, nil},
		"chart":                    {"", "", []string{"chart/Chart.yaml", "name: x\n", "chart/templates/a.yaml", objects("kind: Installation\n{{ x }}\n")}, nil},
		"Context":                  {"  imports:", "  context: shp\n  imports:", []string{"context.yaml", objects("kind: Context\nmetadata: {name: shop, namespace: shop}\n")}, []string{`warning ` + at + `:7:3: spec.context: no file has the Context "shp"; did you mean "shop"?`}},
		"path of a blueprint":      {"blueprints/web", "blueprints/wep", nil, []string{`warning ` + at + `:18:5: spec.blueprint.path: there is no blueprint in ./blueprints/wep; did you mean blueprints/web?`}},
		"blueprint of a folder":    {"", "", []string{"blueprints/web/blueprint.yaml", webBlueprint + "deployExecutions:\n- {name: a, type: GoTemplate, file: deploy.yaml}\n", "blueprints/web/deploy.yaml", "a: {{ .imports.zon }}\n"}, []string{`error blueprints/web/deploy.yaml:1:15: the blueprint has no import "zon"; did you mean "zone"?`}},
		"blueprint in place":       {"    sourceRef: {kind: GitRepository, name: shop}\n    path: ./blueprints/web\n", inPlace("a: {{ .imports.zon }}\n"), nil, []string{`error ` + at + `:34:27: spec.blueprint.inline.filesystem[lib][deploy.yaml]: the blueprint has no import "zon"; did you mean "zone"?`}},
		"configuration of an item": {"", "", []string{"item.yaml", objects("kind: DeployItem\nmetadata: {name: a}\nspec: {type: landscaper.gardener.cloud/helm, config: {vaules: {}}}\n")}, []string{`error item.yaml:4:46: spec.config: deploy item "a": config: vaules: the key is unknown; did you mean values?`}},
		"status of a cluster":      {"spec:", "status: {other: 1}\nspec:", nil, nil},
		"keys of early releases":   {"    sourceRef: {kind: GitRepository, name: shop}\n    path: ./blueprints/web\n", "    ref: {resourceName: web, kind: localResource}\n", nil, []string{`warning ` + at + `:17:30: spec.blueprint.ref.kind: the key is unknown and has no effect`}},
	} {
		t.Run(name, func(t *testing.T) {
			files := []string{at, objects(strings.Replace(web, test.replace, test.with, 1)), "zone.yaml", objects(zone), "cluster.yaml", objects(cluster), "config.yaml", config, "blueprints/web/blueprint.yaml", webBlueprint}
			found := texts(landscapeOf(t, append(files, test.files...)...))
			require.Len(t, found, len(test.want), strings.Join(found, "\n"))
			for i, want := range test.want {
				assert.Contains(t, found[i], want)
			}
		})
	}
}

// inPlace is the blueprint with a template in a folder, written in place.
func inPlace(template string) string {
	document := webBlueprint + "deployExecutions:\n- {name: a, type: GoTemplate, file: lib/deploy.yaml}\n"
	return "    inline:\n      filesystem:\n        blueprint.yaml: |\n" + indent(indent(indent(document))) + "        lib:\n          deploy.yaml: |\n" + indent(indent(indent(template)))
}

// TestMistakesOfAuthors has the mistakes that once only a cluster found.
func TestMistakesOfAuthors(t *testing.T) {
	const sound = head + "imports:\n- {name: namespace, schema: {type: string}}\n- {name: cluster, targetType: x}\nexports:\n- {name: url, schema: {type: string}}\n" +
		"deployExecutions:\n- {name: a, type: GoTemplate, file: deploy.yaml}\nexportExecutions:\n- {name: b, type: GoTemplate, file: exports.yaml}\n" +
		"subinstallations:\n- name: db\n  blueprint: {path: ../db}\n  imports:\n    data:\n    - {name: zone, dataRef: namespace}\n"
	const items = "deployItems:\n- name: web\n  type: landscaper.gardener.cloud/kubernetes-manifest\n  target: {import: cluster}\n  config:\n" +
		"    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\n    kind: ProviderConfiguration\n    manifests:\n    - {policy: manage, manifest: {metadata: {namespace: {{ .imports.namespace }}}}}\n" +
		"- name: chart\n  type: landscaper.gardener.cloud/helm\n  target: {import: cluster}\n  config: {chart: {ref: x}, values: {a: b}}\n"
	const db = head + "imports:\n- {name: zone, schema: {type: string}}\n"
	for name, test := range map[string]struct{ replace, with, want string }{
		"nothing":                    {"", "", ""},
		"import of a template":       {".imports.namespace", ".imports.namspace", `error web/deploy.yaml:9:68: the blueprint has no import "namspace"; did you mean "namespace"?`},
		"Target of an item":          {"target: {import: cluster}", "target: {import: clusters}", `error web/deploy.yaml:4:20: the blueprint has no import "clusters" of type target`},
		"key of an item":             {"target: {import: cluster}", "targetRef: {import: cluster}", `error web/deploy.yaml:4:3: deployItems[0].targetRef: the key is unknown`},
		"key of a configuration":     {"manifests:", "manifets:", `error web/deploy.yaml:8:5: deployItems[0].config.manifets: the key is unknown; did you mean manifests?`},
		"key of a chart":             {"values:", "vaules:", `error web/deploy.yaml:13:29: deployItems[1].config.vaules: the key is unknown; did you mean values?`},
		"version of a configuration": {"/v1alpha2", "/v1alpha7", `error web/deploy.yaml:6:5: deployItems[0].config.apiVersion: "manifest.deployer.landscaper.gardener.cloud/v1alpha7" does not exist`},
		"key of the blueprint":       {"deployExecutions", "deployExecution", `error web/blueprint.yaml:8:1: deployExecution: the key is unknown; did you mean deployExecutions?`},
		"export of another name":     {"exports: {url: x}", "exports: {ur: x}", `error web/exports.yaml:1:11: the blueprint has no export "ur", so the value is ignored; did you mean "url"?`},
		"export that is not made":    {"exports: {url: x}", "exports: {}", `warning web/blueprint.yaml:7:3: exports[0]: no export execution gives the export "url"; add it to one`},
		"type of a schema":           {"{type: string}", "{type: strng}", `error web/blueprint.yaml:4:21: imports[0].schema: the schema cannot be used: type: must be one of array, boolean, integer, null, number, object, string; did you mean "string"?`},
		"required import of a child": {"{name: zone, dataRef", "{name: zon, dataRef", `error web/blueprint.yaml:15:3: subinstallations[0].imports: the blueprint of sub-installation "db" needs import "zone" of type data`},
		"import that nobody exports": {"", "kind: Installation\nmetadata: {name: a}\nspec:\n  imports: {data: [{name: a, dataRef: gone}]}\n  blueprint: {ref: {resourceName: a}}\n", `warning a.yaml:5:30: spec.imports.data[0].dataRef: there is no DataObject "gone"`},
		"Installation that waits for itself": {"", "kind: Installation\nmetadata: {name: a}\nspec:\n  imports: {data: [{name: a, dataRef: b}]}\n  exports: {data: [{name: a, dataRef: b}]}\n  blueprint: {ref: {resourceName: a}}\n",
			`error a.yaml:5:30: spec.imports.data[0].dataRef: the Installations wait for each other: Installation a → Installation a`},
	} {
		t.Run(name, func(t *testing.T) {
			files := []string{"web/blueprint.yaml", sound, "web/deploy.yaml", items, "web/exports.yaml", "exports: {url: x}\n", "db/blueprint.yaml", db}
			if test.replace == "" && test.with != "" {
				files = append(files, "a.yaml", objects(test.with))
			}
			for i := 1; i < len(files) && test.replace != ""; i += 2 {
				if strings.Contains(files[i], test.replace) {
					files[i] = strings.Replace(files[i], test.replace, test.with, 1)
					break
				}
			}
			found := texts(landscapeOf(t, files...))
			if test.want == "" {
				assert.Empty(t, found)
				return
			}
			assert.True(t, slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, test.want) }), strings.Join(found, "\n"))
		})
	}
}

func TestPlaces(t *testing.T) {
	tree := fstest.MapFS{
		"blueprints/web/blueprint.yaml": {Data: []byte(webBlueprint)}, "a/web.yaml": {Data: []byte(objects(web))}, "b/zone.yaml.tpl": {Data: []byte(objects(zone))},
		"b/cluster.yaml": {Data: []byte(objects(cluster))}, "b/.hidden/x.yaml": {Data: []byte(objects("kind: Other\n"))},
	}
	report, err := Landscape(t.Context(), []Place{{tree, "a", "../a"}, {tree, "b/zone.yaml.tpl", "zone"}, {tree, "b", "b"}, {tree, "b/cluster.yaml", "b/cluster.yaml"}})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
	assert.Equal(t, []int{3, 0}, []int{report.Objects, report.Blueprints})

	report, err = Landscape(t.Context(), []Place{{tree, "a", "../a"}, {tree, "blueprints/web/blueprint.yaml", "w/blueprint.yaml"}})
	require.NoError(t, err)
	assert.Equal(t, 1, report.Blueprints)
	require.Len(t, report.Findings, 2)
	assert.Equal(t, "../a/web.yaml", report.Findings[0].File)

	_, err = Landscape(t.Context(), []Place{{tree, "none", "none"}})
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestSampleLandscapeIsSound(t *testing.T) {
	report, err := Landscape(t.Context(), []Place{{os.DirFS(filepath.Join("..", "..", "config", "samples", "landscape")), ".", "landscape"}})
	require.NoError(t, err)
	assert.Empty(t, texts(report))
	assert.Equal(t, []int{7, 3}, []int{report.Objects, report.Blueprints})
}

// brokenInCorpus are files of the corpus with mistakes: explanations that nobody ever applied, blueprints of the time before templates had their form of
// today, and a lesson about errors.
var brokenInCorpus = []string{
	"examples/30-Example-Installation.yaml", "examples/31-Example-Execution.yaml", "examples/40-Example-DeployItem.yaml",
	"examples/components/00-installations/configuration.yaml", "examples/components/00-installations/external-dns-management.yaml",
	"examples/components/00-installations/nginx-ingress.yaml", "examples/components/aggregated/blueprint/blueprint.yaml",
	"examples/components/aggregated/blueprint/installations/dns/dns-installation.yaml",
	"examples/components/external-dns-management/blueprint/blueprint.yaml", "examples/components/nginx-ingress/blueprint/blueprint.yaml",
	"examples/deploy-items/21-Helm-cluster-target.yaml", "guided-tour/error-handling/immediate-error/installation/installation.yaml",
}

// filledIn are the values that the scripts of the corpus write in.
var filledIn = strings.NewReplacer("${kubeconfig}", "      {}", "${namespace}", "example", "${targetNamespace}", "example", "${name}", "my-cluster", "${color}", "blue",
	"${repoBaseUrl}", "example.com/components", `{{ dataObjectName ""  "root.key1" }}`, "root.key1", "{{ .Namespace }}", "default", `\{\{`, "{{", `\}\}`, "}}")

// TestCorpus checks each lesson of the corpus as a landscape of its own. Its warnings are those of testdata/corpus.txt; FLUX_LANDSCAPER_GOLDEN=write writes it.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("FLUX_LANDSCAPER_CORPUS")
	if dir == "" {
		dir = "../../../shared/corpus"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("CORPUS NOT FOUND: %v; set FLUX_LANDSCAPER_CORPUS to its folder", err)
	}
	lessons := map[string]fstest.MapFS{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(at string, entry fs.DirEntry, err error) error {
		steps := strings.Split(at, "/")
		if err != nil || entry.IsDir() || len(steps) < 2 {
			return err
		}
		lesson := path.Join(steps[:2]...)
		if len(steps) > 3 && steps[0] == "guided-tour" && steps[1] != "hello-world" {
			lesson = path.Join(steps[:3]...)
		}
		text, err := os.ReadFile(filepath.Join(dir, at))
		if lessons[lesson] == nil {
			lessons[lesson] = fstest.MapFS{}
		}
		lessons[lesson][strings.TrimPrefix(strings.TrimSuffix(at, ".tpl"), lesson+"/")] = &fstest.MapFile{Data: []byte(filledIn.Replace(string(text)))}
		if at == lesson {
			lessons[lesson] = fstest.MapFS{path.Base(at): {Data: []byte(filledIn.Replace(string(text)))}}
		}
		return err
	}))
	var warnings []string
	for name, files := range lessons {
		report, err := Landscape(t.Context(), []Place{{files, ".", strings.TrimSuffix(name, path.Ext(name))}})
		if _, isFile := files[path.Base(name)]; isFile {
			report, err = Landscape(t.Context(), []Place{{files, path.Base(name), name}})
		}
		require.NoError(t, err)
		for _, f := range report.Findings {
			if f.Severity == Warning && !strings.HasSuffix(f.Field, "jsonSchema") {
				warnings = append(warnings, f.String())
			}
			assert.False(t, f.Severity == Error && !slices.Contains(brokenInCorpus, f.File), f)
		}
	}
	slices.Sort(warnings)
	golden(t, "corpus.txt", strings.Join(warnings, "\n")+"\n")
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("FLUX_LANDSCAPER_GOLDEN") == "write" {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), text)
}

// TestDocumentedObjects checks each example of docs/ that has an object of the API.
func TestDocumentedObjects(t *testing.T) {
	pages := os.DirFS(filepath.Join("..", "..", "docs"))
	checked := 0
	require.NoError(t, fs.WalkDir(pages, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(at) != ".md" {
			return err
		}
		text, err := fs.ReadFile(pages, at)
		for _, block := range fencedYAML.FindAllStringSubmatch(string(text), -1) {
			report := landscapeOf(t, "example.yaml", block[1])
			checked += report.Objects
			assert.True(t, report.Valid(), "%s: %s\n%s", at, strings.Join(texts(report), "\n"), block[1])
		}
		return err
	}))
	assert.GreaterOrEqual(t, checked, 20)
}

func FuzzLandscape(f *testing.F) {
	f.Add([]byte(objects(web, zone, cluster)), []byte(webBlueprint))
	f.Add([]byte(objects(strings.Replace(web, "    sourceRef: {kind: GitRepository, name: shop}\n    path: ./blueprints/web\n", inPlace("{{ .imports.a }}"), 1))), []byte("configMapGenerator: [{name: a}]"))
	f.Fuzz(func(t *testing.T, objects, other []byte) {
		files := fstest.MapFS{"a.yaml": {Data: objects}, "kustomization.yaml": {Data: other}, "blueprints/web/blueprint.yaml": {Data: other}}
		report, err := Landscape(t.Context(), []Place{{files, ".", "."}})
		require.NoError(t, err)
		for _, finding := range report.Findings {
			assert.NotEmpty(t, finding.Message)
			assert.NotEmpty(t, finding.File)
			assert.NotEmpty(t, finding.Rule)
		}
	})
}
