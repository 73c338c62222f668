// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// echo is the spec of an Installation that exports its imports again as one map. Imports are the blueprint's, given the Installation's.
func echo(imports, given list) object {
	return object{
		"blueprint": inline(object{
			"imports": imports, "exports": dataExports("out"),
			"exportExecutions": goTemplate("exports: {out: {{ toJson .imports }}}"),
		}),
		"imports": object{"data": given},
		"exports": object{"data": list{object{"name": "out", "dataRef": "out"}}},
	}
}

// secret applies a Secret.
func (s *scene) secret(name string, content map[string]string) {
	s.T.Helper()
	require.NoError(s.T, s.Apply(s.Ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace}, StringData: content,
	}))
}

// configMap applies a ConfigMap.
func (s *scene) configMap(name string, content map[string]string) {
	s.T.Helper()
	require.NoError(s.T, s.Apply(s.Ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace}, Data: content,
	}))
}

func TestB601ImportFromDataObjectConfigMapAndSecret(t *testing.T) {
	s := newScene(t)
	s.data("from-data", object{"a": 1})
	s.configMap("from-config", map[string]string{"key": "{a: 2}", "other": "text"})
	s.secret("from-secret", map[string]string{"key": "{a: 3}", "other": "[1, 2]"})
	for _, step := range []struct {
		given object
		want  string
	}{
		{object{"name": "in", "dataRef": "from-data"}, `{"in":{"a":1}}`},
		{object{"name": "in", "configMapRef": object{"name": "from-config", "key": "key"}}, `{"in":{"a":2}}`},
		{object{"name": "in", "configMapRef": object{"name": "from-config"}}, `{"in":{"key":{"a":2},"other":"text"}}`},
		{object{"name": "in", "secretRef": object{"name": "from-secret", "key": "key"}}, `{"in":{"a":3}}`},
		{object{"name": "in", "secretRef": object{"name": "from-secret"}}, `{"in":{"key":{"a":3},"other":[1,2]}}`},
		{object{"name": "in", "dataRef": "#from-data"}, `{"in":{"a":1}}`},
	} {
		s.install("root", echo(dataImports("in"), list{step.given}))
		s.succeeded("root")
		assert.JSONEq(t, step.want, s.value("out"))
	}
}

// wholeNumbers are numbers of all sizes that an int64 has.
func wholeNumbers() list {
	numbers := list{int64(math.MinInt64), int64(math.MaxInt64), int64(20161216), int64(1234567890123456789), rand.Int64(), -rand.Int64()}
	for bits := range 62 {
		power := int64(1) << bits
		numbers = append(numbers, power-1, power, power+1, -power-1)
	}
	return numbers
}

func TestWholeNumbersStayThemselves(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	numbers := wholeNumbers()
	raw, err := json.Marshal(numbers)
	require.NoError(t, err)
	s.data("numbers", numbers)
	s.configMap("numbers", map[string]string{"key": string(raw)})
	s.install("root", object{
		"blueprint": inline(object{
			"imports": append(dataImports("data", "config", "mapped"), object{"name": "cluster", "targetType": clusterType}),
			"exports": dataExports("out"),
			"deployExecutions": goTemplate("deployItems:\n" +
				configItem("data", "{import: cluster}", "of-data", `'{{ range .imports.data }}{{ quote . }}{{ end }}'`) +
				configItem("config", "{import: cluster}", "of-config", `'{{ printf "%v" .imports.config }}'`) +
				mockItem("mock", "{all: {{ toJson .imports.mapped }}}")),
			"exportExecutions": list{object{"name": "all", "type": "Spiff", "template": object{"exports": object{"out": "(( values.deployitems.mock.all ))"}}}},
		}),
		"imports": object{
			"data":    list{object{"name": "data", "dataRef": "numbers"}, object{"name": "config", "configMapRef": object{"name": "numbers", "key": "key"}}},
			"targets": list{object{"name": "cluster", "target": "cluster"}},
		},
		"importDataMappings": object{"mapped": "(( config ))"},
		"exports":            object{"data": list{object{"name": "out", "dataRef": "out"}}},
	})
	s.succeeded("root")
	assert.Equal(t, strings.Trim(string(raw), "[]"), strings.ReplaceAll(strings.Trim(s.configValue("of-data"), `"`), `""`, ","))
	assert.Equal(t, fmt.Sprint(numbers), s.configValue("of-config"))
	assert.Equal(t, string(raw), s.value("out"))
}

func TestANumberThatCannotBeKeptIsRefused(t *testing.T) {
	s := newScene(t)
	s.configMap("numbers", map[string]string{"key": "{ids: [1, 12345678901234567890]}"})
	s.install("root", echo(dataImports("in"), list{object{"name": "in", "configMapRef": object{"name": "numbers", "key": "key"}}}))
	assert.Contains(t, s.failed("root").Message, `spec.imports.data[0] (import "in"): ConfigMap `+s.Namespace+
		`/numbers: key "key" has a whole number of more than 64 bits at ids[1], which would become another number; write it as a text, in quotes`)
}

func TestAValueThatIsNullCountsAsNone(t *testing.T) {
	s := newScene(t)
	s.configMap("settings", map[string]string{"zone": "", "region": "# not set yet\n"})
	zone := list{object{"name": "zone", "configMapRef": object{"name": "settings", "key": "zone"}}}
	optional := list{object{"name": "zone", "type": "data", "required": false, "default": object{"value": "north"}, "schema": object{}}}
	s.install("optional", echo(optional, zone))
	s.succeeded("optional")
	assert.JSONEq(t, `{"zone":"north"}`, s.value("out"))

	s.install("required", echo(dataImports("zone"), zone))
	assert.Contains(t, s.failed("required").Message, `spec.imports.data[0] (import "zone"): ConfigMap `+s.Namespace+`/settings: key "zone" has no value`)

	exported := echo(list{}, list{})
	exported["blueprint"] = inline(object{"exports": dataExports("out"), "exportExecutions": goTemplate("exports: {out: null}")})
	exported["exports"] = object{"data": list{object{"name": "out", "dataRef": "none"}}}
	s.install("null-export", exported)
	assert.Contains(t, s.failed("null-export").Message, `export "out" has no value`)
}

func TestB602RenameDataObjectsAndDeployItem(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.data("first", "cm-first")
	s.data("second", "cm-second")
	spec := func(item, in, out string) object {
		return object{
			"blueprint": inline(object{
				"imports":          append(dataImports("in"), object{"name": "cluster", "targetType": clusterType}),
				"exports":          dataExports("out"),
				"deployExecutions": goTemplate("deployItems:\n" + configItem(item, "{import: cluster}", "'{{ .imports.in }}'", "x")),
				"exportExecutions": goTemplate("exports: {out: '{{ .imports.in }}'}"),
			}),
			"imports": object{"data": list{object{"name": "in", "dataRef": in}}, "targets": list{object{"name": "cluster", "target": "cluster"}}},
			"exports": object{"data": list{object{"name": "out", "dataRef": out}}},
		}
	}
	s.install("root", spec("one", "first", "out-first"))
	s.succeeded("root")
	s.install("root", spec("two", "second", "out-second"))
	s.succeeded("root")
	assert.ElementsMatch(t, []string{"cm-second"}, keys(s.configs()))
	assert.Equal(t, `"cm-second"`, s.value("out-second"))
	assert.False(t, s.exists(s.dataObject("out-first")))
	items := s.deployItems(v1alpha1.PhaseSucceeded)
	require.Len(t, items, 1)
	assert.Equal(t, "two", items[0].Labels[v1alpha1.ExecutionManagedNameLabel])
}

func TestB603ImportDataMappings(t *testing.T) {
	s := newScene(t)
	s.data("one", object{"a": 1})
	s.data("two", object{"b": 2})
	spec := echo(dataImports("in"), list{object{"name": "left", "dataRef": "one"}, object{"name": "right", "dataRef": "two"}})
	spec["importDataMappings"] = object{"in": object{"a": "(( left.a ))", "b": "(( right.b ))", "c": "constant"}}
	spec["exportDataMappings"] = object{"out": object{"wrapped": "(( exports.out ))"}}
	s.install("root", spec)
	s.succeeded("root")
	assert.JSONEq(t, `{"wrapped":{"in":{"a":1,"b":2,"c":"constant"}}}`, s.value("out"))
}

func TestB604ImportExecutionBindsNewValues(t *testing.T) {
	s := newScene(t)
	s.data("map", object{"a": 1, "b": 2})
	s.install("root", object{
		"blueprint": inline(object{
			"imports": dataImports("map"), "exports": dataExports("seen"),
			"importExecutions": list{object{
				"name": "derive", "type": "Spiff", "template": object{"bindings": object{"names": "(( sort(map[imports.map|k,v|->k]) ))"}},
			}},
			"deployExecutions": goTemplate("deployItems:\n" + mockItem("item", "{names: {{ toJson .imports.names }}}")),
			"exportExecutions": goTemplate("exports: {seen: {{ toJson .values.deployitems.item.names }}}"),
		}),
		"imports": object{"data": refs("map")},
		"exports": object{"data": refs("seen")},
	})
	s.succeeded("root")
	assert.JSONEq(t, `["a","b"]`, s.value("seen"))
}

func TestB605ImportExecutionReportsErrors(t *testing.T) {
	s := newScene(t)
	s.install("root", object{"blueprint": inline(object{
		"importExecutions": goTemplate("errors: [\"a foo error occurred\"]"),
	})})
	problem := s.failed("root")
	assert.Contains(t, problem.Message, "a foo error occurred")
	assert.Equal(t, "ImportValidationFailed", problem.Reason)
}

func TestB606MissingRequiredImport(t *testing.T) {
	s := newScene(t)
	s.data("given", 1)
	s.install("root", echo(dataImports("in"), list{}))
	problem := s.failed("root")
	assert.Equal(t, "ImportNotFound", problem.Reason)
	assert.Contains(t, problem.Message, `import "in"`)
	s.annotateManyTimes("given")
	s.RequireJobs(1, "root")
	s.install("root", echo(dataImports("in"), list{object{"name": "in", "dataRef": "given"}}))
	s.succeeded("root")
	assert.JSONEq(t, `{"in":1}`, s.value("out"))
}

func TestB607WrongType(t *testing.T) {
	s := newScene(t)
	s.data("given", 1)
	imports := list{object{"name": "in", "schema": object{"type": "string"}}}
	given := list{object{"name": "in", "dataRef": "given"}}
	s.install("root", echo(imports, given))
	problem := s.failed("root")
	assert.Equal(t, "SchemaValidationFailed", problem.Reason)
	for _, part := range []string{"in", "string", "number", "correct the value"} {
		assert.Contains(t, problem.Message, part)
	}
	s.data("given", "text")
	s.reconcile("root")
	s.succeeded("root")
	assert.JSONEq(t, `{"in":"text"}`, s.value("out"))
}

func TestB609InlineBlueprintWithChangingItemsImportsAndExports(t *testing.T) {
	s := newScene(t)
	s.data("in", "v")
	step := func(items string, imports, exports []string) object {
		template := "exports:"
		for _, name := range exports {
			template += "\n  " + name + ": {{ keys .values.deployitems | sortAlpha | join \",\" }}"
		}
		return object{
			"blueprint": inline(object{
				"imports": dataImports(imports...), "exports": dataExports(exports...),
				"deployExecutions": goTemplate("deployItems:\n" + items), "exportExecutions": goTemplate(template),
			}),
			"imports": object{"data": refs(imports...)}, "exports": object{"data": refs(exports...)},
		}
	}
	one, two := mockItem("one", "{a: 1}"), mockItem("two", "{a: 2}")
	s.install("root", step(one, []string{"in"}, nil))
	s.succeeded("root")
	s.install("root", step(one+two, []string{"in"}, []string{"x"}))
	s.succeeded("root")
	assert.Equal(t, `"one,two"`, s.value("x"))
	s.install("root", step(two, []string{"in"}, []string{"x", "z"}))
	s.succeeded("root")
	assert.Equal(t, `"two"`, s.value("z"))
	s.install("root", step(two, nil, []string{"z"}))
	s.succeeded("root")
	assert.False(t, s.exists(s.dataObject("x")))
	copies := &v1alpha1.DataObjectList{}
	require.NoError(t, s.Client().List(s.Ctx, copies, s.inScope("Inst.root")...))
	assert.Empty(t, copies.Items, "copies of former imports are gone")
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
	require.Eventually(t, func() bool { return len(s.objectsOf()) == 0 }, landscapePatience, tick, "%v", s.objectsOf())
}

func TestC04ConditionalImports(t *testing.T) {
	s := newScene(t)
	s.data("outer", "o")
	s.data("inner", "i")
	sub := object{
		"name": "sub",
		"blueprint": inTemplate(object{
			"imports": list{
				object{"name": "outer", "schema": object{}, "required": false}, object{"name": "inner", "schema": object{}, "required": false},
			},
			"exports": dataExports("seen"), "exportExecutions": goTemplate("exports: {seen: {{ toJson .imports }}}"),
		}),
		"imports": object{"data": refs("outer", "inner")}, "exports": object{"data": refs("seen")},
	}
	spec := func(given ...string) object {
		return object{
			"blueprint": inline(object{
				"imports":          list{object{"name": "outer", "schema": object{}, "required": false, "imports": dataImports("inner")}},
				"exports":          dataExports("seen"),
				"subinstallations": list{sub},
				"exportExecutions": goTemplate("exports: {seen: {{ toJson .dataobjects.seen }}}"),
			}),
			"imports": object{"data": refs(given...)}, "exports": object{"data": refs("seen")},
		}
	}
	s.install("root", spec("outer", "inner"))
	s.succeeded("root")
	assert.JSONEq(t, `{"outer":"o","inner":"i"}`, s.value("seen"))
	s.install("root", spec())
	s.succeeded("root")
	assert.JSONEq(t, `{}`, s.value("seen"))
	s.install("root", spec("outer"))
	assert.Contains(t, s.failed("root").Message, `import "inner"`)
}

func TestC05OptionalImportDefaults(t *testing.T) {
	s := newScene(t)
	s.install("root", echo(list{object{"name": "in", "schema": object{"type": "integer"}, "required": false, "default": object{"value": 7}}}, list{}))
	s.succeeded("root")
	assert.JSONEq(t, `{"in":7}`, s.value("out"))
}

func TestD01NamesThatAreNoObjectNamesAreHashed(t *testing.T) {
	s := newScene(t)
	s.data("root.key1", "dotted")
	s.install("root", echo(dataImports("in"), list{object{"name": "in", "dataRef": "root.key1"}}))
	s.succeeded("root")
	spec := producer("Upper_Case", "hashed", "")
	s.install("exporter", spec)
	s.succeeded("exporter")
	all := &v1alpha1.DataObjectList{}
	require.NoError(t, s.Client().List(s.Ctx, all, client.InNamespace(s.Namespace), client.MatchingLabels{v1alpha1.DataObjectKeyLabel: "Upper_Case"}))
	require.Len(t, all.Items, 1)
	assert.Len(t, all.Items[0].Name, 32)
	s.install("importer", echo(dataImports("in"), list{object{"name": "in", "dataRef": "Upper_Case"}}))
	assert.Contains(t, s.failed("importer").Message, "already exported by installation root")
}

func TestC15TemplateState(t *testing.T) {
	s := newScene(t)
	counter := func(field string) string {
		return "state: {count: {{ add 1 (.state.count | default 0) }}}\n" + field
	}
	spec := func(note string) object {
		return object{
			"blueprint": inline(object{
				"exports":          dataExports("out"),
				"deployExecutions": goTemplate("# " + note + "\n" + counter("deployItems:\n"+mockItem("item", "{count: {{ .state.count | default 0 }}}"))),
				"exportExecutions": goTemplate(counter("exports: {out: {deploy: {{ .values.deployitems.item.count }}, export: {{ .state.count | default 0 }}}}")),
			}),
			"exports": object{"data": refs("out")},
		}
	}
	s.install("root", spec("first"))
	s.succeeded("root")
	assert.JSONEq(t, `{"deploy":0,"export":0}`, s.value("out"))
	s.install("root", spec("second"))
	s.succeeded("root")
	assert.JSONEq(t, `{"deploy":1,"export":1}`, s.value("out"))
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
	require.Eventually(t, func() bool {
		secrets := &corev1.SecretList{}
		return s.Client().List(s.Ctx, secrets, client.InNamespace(s.Namespace)) == nil && len(secrets.Items) == 0
	}, landscapePatience, tick, "the state goes with its Installation")
}

// annotateManyTimes gives the controllers enough events, and time, to do what they should not.
func (s *scene) annotateManyTimes(name string) {
	s.T.Helper()
	for i := range 20 {
		s.Annotate(s.Installation("root"), "some", fmt.Sprint(i))
		s.Annotate(s.dataObject(name), "some", fmt.Sprint(i))
	}
}

func TestAFailedRunIsNotRepeatedForTheSameImports(t *testing.T) {
	s := newScene(t)
	s.data("in", "1")
	both := object{v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: "true"}
	s.installWith("root", echo(dataImports("in"), refs("in")), both)
	s.succeeded("root")
	broken := echo(dataImports("in"), refs("in"))
	broken["blueprint"] = object{"inline": object{"filesystem": object{"blueprint.yaml": "{"}}}
	s.installWith("root", broken, both)
	s.failed("root")
	s.annotateManyTimes("in")
	s.RequireJobs(2, "root")
	s.data("in", "2")
	s.RequireJobs(3, "root")
	s.annotateManyTimes("in")
	s.failed("root")
	s.RequireJobs(3, "root")
}
