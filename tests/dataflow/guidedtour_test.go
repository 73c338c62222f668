// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// exampleNamespace is where the tour deploys.
const exampleNamespace = "example"

// example makes the namespace that the tour expects and never deletes.
func (w *tour) example() {
	w.T.Helper()
	require.NoError(w.T, w.Apply(w.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: exampleNamespace}}))
}

func inExample(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: exampleNamespace, Name: name}
}

// oneEcho is held by the test that has the release "echo", a name that two chapters share.
var oneEcho sync.Mutex

const echoChart = "sap-gcp-cp-k8s-stable-hub/landscaper-examples/examples/charts/guided-tour/echo-server"

// echo serves the chart of the tour and returns the blueprint that uses it. What the blueprint asks the component for is what the
// chapter's component says.
func (w *tour) echo() blueprint {
	w.T.Helper()
	oneEcho.Lock()
	w.T.Cleanup(oneEcho.Unlock)
	chart, err := servers.PackageChart(os.DirFS(filepath.Join(corpusDir(), "guided-tour/components/helm-chart/chart/echo-server")))
	require.NoError(w.T, err)
	_, err = w.Registry.PushHelmChart(w.Ctx, echoChart, "1.0.0", chart)
	require.NoError(w.T, err)
	files := w.scene.walk("import-export/import-parameters").blueprint("blueprint")
	w.replace(files, "deploy-execution.yaml", "resourceRef: {{ getResourceKey `cd://resources/echo-server-chart` }}",
		"ref: europe-docker.pkg.dev/"+echoChart+":1.0.0")
	w.replace(files, "deploy-execution.yaml", `getResource .cd "name" "echo-server-image"`,
		`dict "access" (dict "imageReference" "hashicorp/http-echo:0.2.3")`)
	return files
}

// runPods stands in for the node that the cluster does not have: it reports every Pod of a Deployment as ready, as a kubelet would,
// until the test ends. The controllers of the cluster report the Deployment.
func (w *tour) runPods(app string) {
	stop, done := make(chan struct{}), make(chan struct{})
	w.T.Cleanup(func() { close(stop); <-done })
	go func() {
		defer close(done)
		for {
			w.reportReady(app)
			select {
			case <-stop:
				return
			case <-time.After(tick):
			}
		}
	}()
}

func (w *tour) reportReady(app string) {
	pods := &corev1.PodList{}
	_ = w.Client().List(w.Ctx, pods, client.InNamespace(exampleNamespace), client.MatchingLabels{"app": app}) // the next round asks again
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodRunning {
			continue
		}
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		_ = w.Client().Status().Update(w.Ctx, pod)
	}
}

// requireEcho checks the release "echo" and that it goes with the Installation.
func (w *tour) requireEcho(installation, text string) {
	w.T.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: inExample("echo")}
	require.True(w.T, w.exists(deployment))
	container := deployment.Spec.Template.Spec.Containers[0]
	assert.Equal(w.T, "hashicorp/http-echo:0.2.3", container.Image)
	assert.Equal(w.T, []string{fmt.Sprintf(`-text="%s"`, text)}, container.Args)
	assert.True(w.T, w.exists(&corev1.Service{ObjectMeta: inExample("echo")}))
	release := &corev1.Secret{ObjectMeta: inExample("sh.helm.release.v1.echo.v1")}
	assert.True(w.T, w.exists(release))
	w.remove(installation)
	w.Gone(deployment, &corev1.Service{ObjectMeta: inExample("echo")}, release)
}

func TestA16ImportParameters(t *testing.T) {
	w := newScene(t).walk("import-export/import-parameters")
	files := w.echo()
	w.runPods("echo")
	w.apply("installation/context.yaml.tpl", "installation/target.yaml.tpl",
		"installation/dataobject-release.yaml.tpl", "installation/dataobject-values.yaml.tpl")
	w.requireEcho(w.succeed("installation/installation.yaml.tpl", files), "Hello, Landscaper!")
}

func TestA17ImportDataMappings(t *testing.T) {
	w := newScene(t).walk("import-export/import-data-mappings")
	files := w.echo()
	w.runPods("echo")
	w.apply("installation/context.yaml.tpl", "installation/target.yaml.tpl",
		"installation/dataobject-name.yaml.tpl", "installation/dataobject-namespace.yaml.tpl")
	w.requireEcho(w.succeed("installation/installation.yaml.tpl", files), "hello")
}

func TestA18ExportParameters(t *testing.T) {
	w := newScene(t).walk("import-export/export-parameters")
	w.example()
	w.apply("installation/context.yaml.tpl", "installation/target.yaml.tpl")
	name := w.succeed("installation/installation.yaml.tpl", w.blueprint("blueprint"))

	secret := &corev1.Secret{ObjectMeta: inExample("test-secret")}
	require.True(t, w.exists(secret))
	require.NotEmpty(t, secret.Data["token"])
	assert.Equal(t, fmt.Sprintf("%q", secret.Data["token"]), w.value("my-token"))
	w.remove(name)
	w.Gone(secret, &corev1.ServiceAccount{ObjectMeta: inExample("test-service-account")}, w.dataObject("my-token"))
}

// chained installs the chapter of the tour in which three sub-installations hand a name on.
func (w *tour) chained() string {
	w.T.Helper()
	w.example()
	w.apply("installation/context.yaml.tpl", "installation/target.yaml.tpl", "installation/dataobject.yaml.tpl")
	files := w.blueprint("blueprints/root")
	w.nest(files, "cd://componentReferences/sub/resources/blueprint-sub", w.blueprint("blueprints/sub"))
	return w.succeed("installation/installation.yaml.tpl", files)
}

func TestA20ComponentReferences(t *testing.T) {
	w := newScene(t).walk("subinstallations/component-references")
	name := w.chained()
	made := []string{"example-configmap", "example-configmap-x", "example-configmap-x-x"}
	assert.JSONEq(t, `["example-configmap", "example-configmap-x", "example-configmap-x-x"]`, w.value("do-configmap-names"))
	assert.Equal(t, made, w.configsInOrder("create", "patch", "update"))

	w.remove(name)
	slices.Reverse(made)
	assert.Equal(t, made, w.configsInOrder("delete"))
	assert.Equal(t, []string{"subinst3", "subinst2", "subinst1", name}, w.goneInOrder(4))
}

// configsInOrder are the ConfigMaps of the example namespace that the deployer of this scene wrote with some verbs, each at its first
// time.
func (w *tour) configsInOrder(verbs ...string) []string {
	w.T.Helper()
	requests, err := w.Requests(w.Ctx, time.Time{})
	require.NoError(w.T, err)
	slices.SortStableFunc(requests, func(a, b platform.Request) int { return cmp.Compare(a.Time.UnixNano(), b.Time.UnixNano()) })
	var names []string
	for _, r := range requests {
		if r.User == w.Deployer() && r.Resource == "configmaps" && r.Namespace == exampleNamespace && r.Code < 300 &&
			slices.Contains(verbs, r.Verb) && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

func TestA21TemplatedSubinstallations(t *testing.T) {
	w := newScene(t).walk("subinstallations/subinst-templates")
	w.example()
	w.apply("installation/context.yaml.tpl", "installation/target.yaml.tpl")
	files := w.blueprint("blueprints/root")
	w.nest(files, "cd://componentReferences/sub/resources/blueprint-sub", w.blueprint("blueprints/sub"))
	name := w.succeed("installation/installation.yaml.tpl", files)
	for i := range 3 {
		assert.NotNil(t, w.Child(name, fmt.Sprintf("subinst-%d", i)))
		assert.True(t, w.exists(&corev1.ConfigMap{ObjectMeta: inExample(fmt.Sprintf("cm-%d", i))}))
	}

	w.succeed("installation/installation.yaml.tpl", files, func(spec object) {
		spec["importDataMappings"].(object)["numofsubinsts"] = 2
	})
	assert.Nil(t, w.Child(name, "subinst-2"))
	assert.NotNil(t, w.Child(name, "subinst-1"))
	w.Gone(&corev1.ConfigMap{ObjectMeta: inExample("cm-2")})
	assert.True(t, w.exists(&corev1.ConfigMap{ObjectMeta: inExample("cm-1")}))
	w.remove(name)
	w.Gone(&corev1.ConfigMap{ObjectMeta: inExample("cm-0")}, &corev1.ConfigMap{ObjectMeta: inExample("cm-1")})
}

// mapped walks through the change that the tour makes to a map of Targets: what is deployed follows, and what stays is changed in
// place. Prefix begins the names of the ConfigMaps.
func (w *tour) mapped(prefix string, files blueprint) {
	w.T.Helper()
	w.apply("component/installation/context.yaml.tpl", "component/installation/dataobject.yaml.tpl")
	w.colours("blue", "green", "red", "yellow", "orange")
	name := w.succeed("component/installation/installation.yaml.tpl", files)
	before := w.configs()
	require.ElementsMatch(w.T, []string{prefix + "blue", prefix + "green", prefix + "red"}, keys(before))
	assert.Equal(w.T, map[string]string{"color": "red", "cpu": "180m", "memory": "180Mi"}, before[prefix+"red"].Data)

	w.succeed("component/installation/installation.yaml.tpl", files, func(spec object) {
		spec["imports"].(object)["targets"].(list)[0].(object)["targetMap"] = object{
			"blue": "cluster-blue", "red": "cluster-red", "yellow": "cluster-yellow", "orange": "cluster-orange",
		}
	})
	after := w.configs()
	require.ElementsMatch(w.T, []string{prefix + "blue", prefix + "red", prefix + "yellow", prefix + "orange"}, keys(after))
	for _, colour := range []string{"blue", "red"} {
		assert.Equal(w.T, before[prefix+colour].UID, after[prefix+colour].UID, "%s is changed in place", colour)
	}
	for _, colour := range []string{"blue", "red", "yellow", "orange"} {
		assert.Equal(w.T, colour, after[prefix+colour].Data["color"])
	}
	w.remove(name)
	assert.Empty(w.T, w.configs())
}

func TestA24ToA26TargetMaps(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ chapter, prefix string }{
		"B706 to deploy items":            {"01-multiple-deploy-items", "multiple-items-"},
		"B707 by reference":               {"02-targetmap-ref", "targetmapref-"},
		"B709 to sub-installations, each": {"03-multiple-subinst", "multiple-subinst-"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newScene(t).walk("target-maps/" + c.chapter)
			if c.chapter == "01-multiple-deploy-items" {
				w.mapped(c.prefix, w.blueprint("component/blueprint"))
				return
			}
			files := w.blueprint("component/blueprint/root")
			w.nest(files, "cd://resources/blueprint-sub", w.blueprint("component/blueprint/sub"))
			w.mapped(c.prefix, files)
			if c.chapter == "02-targetmap-ref" {
				return
			}
			var gone []string
			for _, inst := range w.Witness.Gone(w.Namespace) {
				gone = append(gone, inst.Annotations[v1alpha1.SubinstallationNameAnnotation])
			}
			for _, colour := range []string{"green", "blue", "red", "yellow", "orange"} {
				assert.Contains(t, gone, "multiple-subinst-sub-"+colour)
			}
		})
	}
}

func TestA27ComposeAMapFromSingleTargets(t *testing.T) {
	w := newScene(t).walk("target-maps/04-forward-map")
	w.apply("component/installation/context.yaml.tpl", "component/installation/dataobject.yaml.tpl")
	w.colours("blue", "green", "red")
	sub := w.blueprint("component/blueprint/sub")
	w.nest(sub, "cd://resources/blueprint-sub-sub", w.blueprint("component/blueprint/subsub"))
	files := w.blueprint("component/blueprint/root")
	w.nest(files, "cd://resources/blueprint-sub", sub)
	name := w.succeed("component/installation/installation.yaml.tpl", files)
	require.ElementsMatch(t, []string{"compose-map-exec-blue", "compose-map-exec-green", "compose-map-exec-red"}, keys(w.configs()))
	w.remove(name)
	assert.Empty(t, w.configs())
}

// succeededBefore returns the sub-installations that had succeeded when another one began to work, by name of their templates.
func (w *tour) succeededBefore(template string) []string {
	w.T.Helper()
	var done []string
	for _, inst := range w.Witness.States(w.Namespace) {
		name := inst.Annotations[v1alpha1.SubinstallationNameAnnotation]
		switch {
		case name == template && inst.Status.Phase != "" && inst.Status.Phase != v1alpha1.PhaseInit:
			slices.Sort(done)
			return done
		case name != "" && inst.Status.Phase == v1alpha1.PhaseSucceeded && !slices.Contains(done, name):
			done = append(done, name)
		}
	}
	return nil
}

// TestA28MapFromExportsOfSiblings gives the importer of the tour, which takes a map of Targets, what its siblings export. The tour has
// no chapter with the exporters.
func TestA28MapFromExportsOfSiblings(t *testing.T) {
	w := newScene(t).walk("target-maps/04-forward-map")
	importer := object{}
	for name, text := range w.blueprint("component/blueprint/subsub") {
		importer[name] = text
	}
	colours := []string{"blue", "green", "red"}
	byKey, subs := object{}, exporters(colours...)
	for _, colour := range colours {
		byKey[colour] = "exported-" + colour
	}
	subs = append(subs, object{
		"name": "importer", "blueprint": object{"filesystem": importer},
		"imports": object{"data": refs("namespace"), "targets": list{object{"name": "subsubclusters", "targetMap": byKey}}},
	})
	w.Target("cluster")
	w.scene.install("root", object{
		"blueprint": inline(object{
			"imports":          list{mapImports[1], object{"name": "namespace", "schema": object{}}, object{"name": "cluster", "targetType": clusterType}},
			"subinstallations": subs,
		}),
		"imports":            object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
		"importDataMappings": object{"namespace": sceneNamespace, "config": object{"red": "180m", "green": "120m", "blue": "100m"}},
	})
	w.succeeded("root")
	assert.ElementsMatch(t, []string{"compose-map-exec-blue", "compose-map-exec-green", "compose-map-exec-red"}, keys(w.configs()))
	assert.Equal(t, []string{"export-blue", "export-green", "export-red"}, w.succeededBefore("importer"))
	w.remove("root")
	assert.Empty(t, w.configs())
}
