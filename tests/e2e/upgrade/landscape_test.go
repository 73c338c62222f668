// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// A unit is a root Installation whose deploy item makes a ConfigMap of its name on the target.
type unit struct {
	name string
	// item is how: manifest, helm as a release, template as objects of a chart, or mock and container, which make none.
	item string
	// more are lines of the configuration of the item.
	more string
	// timeout of the item; empty is the default.
	timeout string
	// nested has the item in a sub-installation, whose export another one deploys.
	nested bool
	// number is the object that the import of the Installation comes from, an integer; empty is the DataObject "count".
	number string
	// from is where the blueprint is: inline, or in a Flux source or a component, which has the chart, too.
	from string
	// sensitive says that the export is kept in a Secret, which the former release does not know.
	sensitive bool
	// specOnly says that no job begins when the content of an import changes.
	specOnly bool
	// chart are templates of the chart beside the ConfigMap.
	chart map[string]string
}

// cured is a unit without what makes it fail.
func (u unit) cured() unit { return unit{name: u.name, item: u.item} }

// held is a readiness check that waits until the gate of a unit is open.
func held(name string) string {
	return fmt.Sprintf(`readinessChecks:
  custom:
  - name: gate
    resourceSelector: [{apiVersion: v1, kind: ConfigMap, name: %s, namespace: %s}]
    requirements: [{jsonPath: .data.open, operator: ==, values: [{value: "yes"}]}]
`, name, gates)
}

const hook = `apiVersion: batch/v1
kind: Job
metadata: {name: "{{ .Release.Name }}-hook", annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: "before-hook-creation,hook-succeeded"}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
`

// atRest have succeeded when the release is replaced.
var atRest = []unit{
	{name: "manifest", item: "manifest"},
	{name: "helm", item: "helm"},
	{name: "template", item: "template"},
	{name: "mock", item: "mock"},
	{name: "nested", item: "manifest", nested: true},
	{name: "nested-helm", item: "helm", nested: true},
	{name: "configmap", item: "manifest", number: inConfigMap},
	{name: "secret", item: "mock", number: inSecret},
	{name: "source", item: "manifest", from: "source"},
	{name: "component", item: "helm", from: "component"},
}

// inConfigMap and inSecret are imports from objects of the user.
const inConfigMap, inSecret = "ConfigMap", "Secret"

// runs are in the middle of their jobs, which wait for the gates of their names.
var runs = []unit{
	{name: "runs-manifest", item: "manifest", more: held("runs-manifest")},
	{name: "runs-helm", item: "helm", more: held("runs-helm")},
	{name: "runs-template", item: "template", more: held("runs-template")},
	{name: "runs-nested", item: "manifest", more: held("runs-nested"), nested: true},
}

// hooked waits for a hook of its chart, which runs again where a deployer has ended meanwhile: nobody can go on with an operation of Helm. runsMock waits
// until somebody interrupts it.
var (
	hooked   = unit{name: "runs-hook", item: "helm", chart: map[string]string{"templates/hook.yaml": hook}}
	runsMock = unit{name: "runs-mock", item: "mock", more: "phase: Progressing\n"}
)

// fail have failed for good.
var fail = []unit{
	{name: "fails-manifest", item: "manifest", more: "exports: {exports: [{key: a, jsonPath: .data.none, fromResource: {apiVersion: v1, kind: ConfigMap, name: none, namespace: none}}]}\n", timeout: "3s"},
	{name: "fails-helm", item: "helm", timeout: "3s", chart: map[string]string{"templates/fail.yaml": `{{ fail "as it should" }}`}},
	{name: "fails-template", item: "template", timeout: "3s", chart: map[string]string{"templates/fail.yaml": `{{ fail "as it should" }}`}},
	{name: "fails-mock", item: "mock", more: "phase: Failed\n"},
	{name: "fails-value", item: "mock", number: "text"},
}

// mended failed over a value that was corrected later, which starts a job in this release, and large has a number that has another hash there.
var (
	mended = unit{name: "mended", item: "mock", number: "corrected", specOnly: true}
	large  = unit{name: "large", item: "mock", number: "large"}
)

// vault makes its export sensitive as soon as a release knows of that.
var vault = unit{name: "vault", item: "mock"}

// goes are in deletion, and wait for somebody to let their objects go. The time of the last one is up before that, and
// a person has to ask for its deletion again.
var goes = []unit{
	{name: "goes-manifest", item: "manifest"},
	{name: "goes-template", item: "template"},
	{name: "goes-nested", item: "manifest", nested: true},
	{name: "goes-late", item: "manifest", timeout: "3s"},
}

func indent(text string, by int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.Repeat(" ", by) + line)
	}
	return out.String()
}

// deployItems is the template of the deploy items of a unit in a version.
func (w *world) deployItems(u unit, version string) string {
	w.t.Helper()
	kind, config := v1alpha1.MockDeployItemType, "apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1\nexport: {version: "+version+"}\n"
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + u.name + ", namespace: " + deployed + "}\n"
	const drift = "driftDetection: {mode: enabled}\n"
	switch u.item {
	case "manifest":
		kind = v1alpha1.ManifestDeployItemType
		config = "apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\nupdateStrategy: update\n" + drift + "manifests:\n- policy: manage\n  manifest:\n" +
			indent(object+"data: {version: "+version+", count: \"{{ .imports.count }}\"}\n", 4)
	case "container":
		kind = v1alpha1.ContainerDeployItemType
		script := fmt.Sprintf(`wget -q -O /dev/null %s/%s/%s/$OPERATION && echo run >>"$STATE_PATH/runs"`, w.door.server.URL, u.name, version)
		config = fmt.Sprintf("apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1\nimage: %s\ncommand: [sh, -ec, '%s']\n", w.image, script)
	case "helm", "template":
		kind = v1alpha1.HelmDeployItemType
		files := map[string]string{
			"Chart.yaml":          "apiVersion: v2\nname: " + u.name + "\nversion: 1.0.0\n",
			"templates/main.yaml": object + "data: {version: {{ .Values.version }}, count: {{ .Values.count | quote }}}\n",
		}
		for name, text := range u.chart {
			files[name] = text
		}
		archive, err := servers.PackageChart(servers.Files(files))
		require.NoError(w.t, err)
		chart := "archive: {raw: " + base64.StdEncoding.EncodeToString(archive) + "}"
		if u.from == "component" {
			w.publish(version, archive)
			chart = "resourceRef: {{ getResourceKey `cd://resources/chart` }}"
		}
		config = fmt.Sprintf("apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1\n%sname: %s\nnamespace: %s\nhelmDeployment: %t\nchart: {%s}\n",
			drift, u.name, deployed, u.item == "helm", chart) +
			"values: {version: " + version + ", count: {{ .imports.count }}}\n"
	}
	timeout := ""
	if u.timeout != "" {
		timeout = "  timeout: " + u.timeout + "\n"
	}
	target := "  target: {import: cluster}\n"
	if u.item == "mock" || u.item == "container" {
		target = ""
	}
	return "deployItems:\n- name: item\n  type: " + string(kind) + "\n" + target + timeout + "  config:\n    kind: ProviderConfiguration\n" + indent(config+u.more, 4)
}

// put applies the Installation of a unit in a version.
func (w *world) put(u unit, version string) {
	w.t.Helper()
	imports := list{
		object{"name": "count", "type": "data", "schema": object{"type": "integer"}},
		object{"name": "cluster", "type": "target", "targetType": v1alpha1.KubernetesClusterTargetType},
	}
	exported := object{"name": "version", "type": "data", "schema": object{"type": "string"}}
	if u.sensitive {
		exported["sensitive"] = true
	}
	exports := list{exported}
	blueprint := object{
		"imports": imports, "exports": exports, "deployExecutions": landscape.GoTemplate(w.deployItems(u, version)),
		"exportExecutions": landscape.GoTemplate("exports: {version: " + version + "}\n"),
	}
	given := object{
		"data": list{object{"name": "count", "dataRef": "count"}}, "targets": list{object{"name": "cluster", "target": "cluster"}},
	}
	if u.nested {
		blueprint = w.nested(u, version, blueprint, imports, exports, given)
	}
	spec := w.find(u, version, landscape.Blueprint(blueprint))
	spec["imports"] = object{"data": list{w.importOf(u.number)}, "targets": given["targets"]}
	spec["exports"] = object{"data": list{object{"name": "version", "dataRef": "version-of-" + u.name}}}
	w.Put("Installation", u.name, object{
		"metadata": object{"annotations": object{
			v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: strconv.FormatBool(!u.specOnly),
		}},
		"spec": spec,
	})
}

// importOf connects the import with an object.
func (w *world) importOf(number string) object {
	in := object{"name": "numbers", "key": "count"}
	switch number {
	case "":
		return object{"name": "count", "dataRef": "count"}
	case inConfigMap:
		return object{"name": "count", "configMapRef": in}
	case inSecret:
		return object{"name": "count", "secretRef": in}
	}
	return object{"name": "count", "dataRef": number}
}

// find puts a blueprint where a unit has it, and returns a spec that leads there.
func (w *world) find(u unit, version, blueprint string) object {
	w.t.Helper()
	switch u.from {
	case "source":
		_, err := w.Registry.PushFluxArtifact(w.Ctx, u.name, "latest", servers.Files(map[string]string{"blueprint.yaml": blueprint}))
		require.NoError(w.t, err)
		source := &sourcev1.OCIRepository{ObjectMeta: w.Named(u.name), Spec: sourcev1.OCIRepositorySpec{
			URL: w.Registry.URL(u.name), Insecure: true, Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.OCIRepositoryRef{Tag: "latest"},
		}}
		require.NoError(w.t, w.Apply(w.Ctx, source))
		w.Refresh(source)
		return object{"blueprint": object{"sourceRef": object{"kind": sourcev1.OCIRepositoryKind, "name": u.name}}}
	case "component":
		require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, "blueprint", "blueprint.yaml"), []byte(blueprint), 0o600))
		binary, err := binaries.BuildCLI(w.Ctx)
		require.NoError(w.t, err)
		push := exec.CommandContext(w.Ctx, binary, "component", "push", "--file", "component-constructor.yaml", "--repository", "oci://"+w.Registry.Host+"/components")
		push.Dir = w.dir
		said, err := push.CombinedOutput()
		require.NoError(w.t, err, "%s", said)
		w.Put("Context", "default", object{"repositoryContext": object{"type": "OCIRegistry", "baseUrl": w.Registry.Host, "subPath": "components"}})
		return object{
			"componentDescriptor": object{"ref": object{"componentName": "example.com/app", "version": componentVersion(version)}},
			"blueprint":           object{"ref": object{"resourceName": "blueprint"}},
		}
	}
	return object{"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": blueprint}}}}
}

func componentVersion(version string) string { return strings.TrimPrefix(version, "v") + ".0.0" }

// publish writes the chart of a component and what it consists of.
func (w *world) publish(version string, chart []byte) {
	w.t.Helper()
	constructor := `components:
- name: example.com/app
  version: ` + componentVersion(version) + `
  provider: {name: example.com}
  resources:
  - name: blueprint
    type: landscaper.gardener.cloud/blueprint
    input: {type: dir, path: ./blueprint, compress: true, mediaType: application/vnd.gardener.landscaper.blueprint.v1+tar+gzip}
  - name: chart
    type: helmChart
    input: {type: helm, path: ./chart.tgz}
`
	require.NoError(w.t, os.MkdirAll(filepath.Join(w.dir, "blueprint"), 0o755))
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, "component-constructor.yaml"), []byte(constructor), 0o600))
	require.NoError(w.t, os.WriteFile(filepath.Join(w.dir, "chart.tgz"), chart, 0o600))
}

// nested is a blueprint with two sub-installations: the first one is the given blueprint, and the second one deploys what that exports.
func (w *world) nested(u unit, version string, first object, imports, exports list, given object) object {
	follower := unit{name: u.name + "-follower", item: u.item}
	second := object{
		"imports":          append(list{object{"name": "version", "type": "data", "schema": object{"type": "string"}}}, imports...),
		"exports":          list{object{"name": "deployed", "type": "data", "schema": object{"type": "string"}}},
		"deployExecutions": landscape.GoTemplate(w.deployItems(follower, "'{{ .imports.version }}'")),
		"exportExecutions": landscape.GoTemplate("exports: {deployed: '{{ .imports.version }}'}\n"),
	}
	sub := func(name string, blueprint, imports object, export string) object {
		return object{
			"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "InstallationTemplate", "name": name, "imports": imports,
			"blueprint": object{"filesystem": object{"blueprint.yaml": landscape.Blueprint(blueprint)}},
			"exports":   object{"data": list{object{"name": export, "dataRef": export}}},
		}
	}
	both := object{"data": append(list{object{"name": "version", "dataRef": "version"}}, given["data"].(list)...), "targets": given["targets"]}
	return object{
		"imports": imports, "exports": exports,
		"subinstallations": list{sub("first", first, given, "version"), sub("second", second, both, "deployed")},
		"exportExecutions": landscape.GoTemplate("exports: {version: '{{ .values.dataobjects.deployed }}'}\n"),
	}
}

// number makes or changes the DataObject of an import.
func (w *world) number(name string, value any) {
	w.t.Helper()
	w.Put("DataObject", name, object{"data": value})
}

// gate opens or closes what a unit waits for.
func (w *world) gate(u unit, open string) {
	w.t.Helper()
	gate := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: u.name, Namespace: gates}, Data: map[string]string{"open": open}}
	require.NoError(w.t, w.site.Apply(w.Ctx, gate))
}

// configMap is what a unit has deployed.
func (w *world) configMap(name string) *corev1.ConfigMap {
	w.t.Helper()
	found := &corev1.ConfigMap{}
	require.NoError(w.t, w.site.Client().Get(w.Ctx, client.ObjectKey{Namespace: deployed, Name: name}, found))
	return found
}

func (w *world) patch(o client.Object, patch string) {
	w.t.Helper()
	require.NoError(w.t, w.site.Client().Patch(w.Ctx, o, client.RawPatch(types.MergePatchType, []byte(patch))))
}

// hold keeps an object from going, and letGo lets it go.
func (w *world) hold(name string) {
	w.patch(w.configMap(name), `{"metadata": {"finalizers": ["example.com/held"]}}`)
}

func (w *world) letGo(name string) { w.patch(w.configMap(name), `{"metadata": {"finalizers": null}}`) }

// awaitDeployed waits until an object is deployed in a version.
func (w *world) awaitDeployed(name, version string) {
	w.t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: deployed}}
	ctx, cancel := context.WithTimeout(w.Ctx, landscape.Patience)
	defer cancel()
	require.NoError(w.t, w.site.Await(ctx, object, func() bool { return object.Data["version"] == version }))
}

// running waits until an Installation runs.
func (w *world) running(name string) *v1alpha1.Installation {
	w.t.Helper()
	return w.AwaitState(name, func(inst *v1alpha1.Installation) bool { return inst.Status.JobID != "" && !inst.Status.IsIdle() })
}

// endHook ends the Pod of the hook of a unit, as a kubelet would.
func (w *world) endHook(u unit) {
	w.t.Helper()
	pods := &corev1.PodList{}
	require.NoError(w.t, w.Client().List(w.Ctx, pods, client.InNamespace(deployed), client.MatchingLabels{"job-name": u.name + "-hook"}))
	require.Len(w.t, pods.Items, 1, "one hook runs")
	pod := &pods.Items[0]
	require.NoError(w.t, platform.EditStatus(w.Ctx, w.Client(), pod, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }))
}

// awaitHook waits until the hook of a unit runs.
func (w *world) awaitHook(u unit) {
	w.t.Helper()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: u.name + "-hook", Namespace: deployed}}
	require.NoError(w.t, w.Await(w.Ctx, job, func() bool { return job.Status.Active == 1 }))
}
