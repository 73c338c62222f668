// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// noSiblings are the hints of an Installation that neither imports from siblings nor exports to them.
var noSiblings = object{"hasNoSiblingImports": true, "hasNoSiblingExports": true}

const helloChart = "sap-gcp-cp-k8s-stable-hub/landscaper-examples/examples/charts/hello-world"

// hello applies the Installation hello-world of the tour under a name of its own, deploying to the namespace of the scene.
func (w *tour) hello(name string, hinted bool) {
	w.T.Helper()
	installation := &unstructured.Unstructured{}
	require.NoError(w.T, yaml.Unmarshal([]byte(w.read("installation/installation.yaml.tpl")), &installation.Object))
	installation.SetName(name)
	files := blueprint{}
	path := []string{"spec", "blueprint", "inline", "filesystem", "blueprint.yaml"}
	text, found, err := unstructured.NestedString(installation.Object, path...)
	require.NoError(w.T, err)
	require.True(w.T, found)
	files["blueprint.yaml"] = text
	w.replace(files, "blueprint.yaml", "name: hello-world", "name: "+name)
	w.replace(files, "blueprint.yaml", "namespace: example", "namespace: "+w.Namespace)
	require.NoError(w.T, unstructured.SetNestedField(installation.Object, files["blueprint.yaml"], path...))
	if hinted {
		annotations := installation.GetAnnotations()
		annotations[v1alpha1.CacheHelmChartsAnnotation] = "true"
		installation.SetAnnotations(annotations)
		require.NoError(w.T, unstructured.SetNestedMap(installation.Object, noSiblings, "spec", "optimization"))
	}
	require.NoError(w.T, w.Apply(w.Ctx, installation))
}

func TestA36OptimizationHints(t *testing.T) {
	w := newScene(t).walk("hello-world")
	chart, err := servers.PackageChart(os.DirFS(filepath.Join(corpusDir(), "guided-tour/hello-world/chart/hello-world")))
	require.NoError(t, err)
	_, err = w.Registry.PushHelmChart(w.Ctx, helloChart, "1.0.0", chart)
	require.NoError(t, err)
	w.apply("installation/target.yaml.tpl")
	begun := time.Now()
	for i := range 2 {
		w.hello(fmt.Sprintf("plain-%d", i), false)
		w.hello(fmt.Sprintf("hinted-%d", i), true)
	}
	for i := range 2 {
		for _, name := range []string{fmt.Sprintf("plain-%d", i), fmt.Sprintf("hinted-%d", i)} {
			w.succeeded(name)
			config := w.config(name)
			require.True(t, w.exists(config), name)
			assert.Equal(t, map[string]string{"testData": "hello"}, config.Data, name)
		}
	}
	for digest, count := range w.Registry.Downloads(begun) {
		assert.LessOrEqual(t, count, 1, "downloads of %s", digest)
	}
	for i := range 2 {
		for _, name := range []string{fmt.Sprintf("plain-%d", i), fmt.Sprintf("hinted-%d", i)} {
			w.Delete(w.Installation(name))
			w.Gone(w.Installation(name), w.config(name))
		}
	}
	releases := &corev1.SecretList{}
	require.NoError(t, w.Client().List(w.Ctx, releases, client.InNamespace(w.Namespace), client.MatchingLabels{"owner": "helm"}))
	assert.Empty(t, releases.Items)
}

// TestA36HintsOfTemplatesReachSubinstallations uses hints where they hold: the first imports nothing from siblings, the last exports
// nothing to them.
func TestA36HintsOfTemplatesReachSubinstallations(t *testing.T) {
	s := newScene(t)
	first := passing("first", "in", "middle")
	first["optimization"] = object{"hasNoSiblingImports": true}
	last := passing("last", "middle", "out")
	last["optimization"] = object{"hasNoSiblingExports": true}
	s.install("root", object{
		"blueprint": inline(object{
			"imports": dataImports("in"), "exports": dataExports("out"), "subinstallations": list{last, first},
			"exportExecutions": goTemplate("exports: {out: '{{ .dataobjects.out }}'}"),
		}),
		"importDataMappings": object{"in": "value"},
		"exports":            object{"data": refs("out")},
		"optimization":       noSiblings,
	})
	s.succeeded("root")
	assert.Equal(t, `"value, first, last"`, s.value("out"))
	assert.Equal(t, &v1alpha1.Optimization{HasNoSiblingImports: true}, s.Child("root", "first").Spec.Optimization)
	assert.Equal(t, &v1alpha1.Optimization{HasNoSiblingExports: true}, s.Child("root", "last").Spec.Optimization)
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
	assert.Equal(t, []string{"last", "first", "root"}, s.goneInOrder(3))
}

// passing is a sub-installation that adds its name to a value.
func passing(name, from, to string) object {
	return object{
		"name": name,
		"blueprint": inTemplate(object{
			"imports": dataImports("in"), "exports": dataExports("out"),
			"exportExecutions": goTemplate("exports: {out: '{{ .imports.in }}, " + name + "'}"),
		}),
		"imports": object{"data": list{object{"name": "in", "dataRef": from}}},
		"exports": object{"data": list{object{"name": "out", "dataRef": to}}},
	}
}
