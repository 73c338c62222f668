// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// compared are the charts of testdata/charts, each with one feature of charts that many use.
var compared = []struct {
	chart string
	// failsToUpgrade says that the second version of the values does not fit what the first one made.
	failsToUpgrade bool
	// cannotRollBack says that the library cannot: an object is still there that the failed upgrade was to drop.
	cannotRollBack bool
	// cannotReturn says that the library cannot roll back to the first version: an object that the second one drops is kept, and in the way.
	cannotReturn bool
	// onlyTemplate are the objects that exist without a release only: there hooks and tests are objects like all others.
	onlyTemplate []string
	// stays are the objects that an uninstall leaves.
	stays []string
}{
	{chart: "capabilities"},
	{chart: "conditional", cannotRollBack: true},
	{chart: "crds"},
	{chart: "empty"},
	{chart: "files"},
	{chart: "hook-policies", onlyTemplate: []string{"ConfigMap/hooksucceeded", "ConfigMap/hooksucceededbeforehookcreation", "ConfigMap/beforehookcreation"}},
	{chart: "hooks", onlyTemplate: []string{
		"ConfigMap/pre-install", "ConfigMap/post-install", "ConfigMap/pre-upgrade", "ConfigMap/post-upgrade",
		"ConfigMap/pre-delete", "ConfigMap/post-delete", "ConfigMap/pre-rollback", "ConfigMap/post-rollback",
	}},
	{chart: "immutable", failsToUpgrade: true},
	{chart: "jobs", cannotRollBack: true},
	{chart: "keep", cannotReturn: true, stays: []string{"ConfigMap/stays", "ConfigMap/goes"}},
	{chart: "kinds-order"},
	{chart: "library", cannotRollBack: true},
	{chart: "lists", cannotRollBack: true},
	{chart: "lookup"},
	{chart: "null-values"},
	{chart: "operator"},
	{chart: "plain"},
	{chart: "schema"},
	{chart: "statefulset"},
	{chart: "subcharts"},
	{chart: "tests", onlyTemplate: []string{"ConfigMap/test"}},
	{chart: "web"},
}

func TestC25EveryChartIsCompared(t *testing.T) {
	entries, err := os.ReadDir("testdata/charts")
	require.NoError(t, err)
	var charts, rows []string
	for _, entry := range entries {
		charts = append(charts, entry.Name())
	}
	for _, row := range compared {
		rows = append(rows, row.chart)
	}
	assert.ElementsMatch(t, charts, rows)
}

// TestC25HelmSpecifics installs, upgrades, rolls back and uninstalls charts, and compares objects and history with what the Helm library itself
// makes of the same steps.
func TestC25HelmSpecifics(t *testing.T) {
	for _, row := range compared {
		t.Run(row.chart, func(t *testing.T) {
			t.Run("release", func(t *testing.T) { compareRelease(t, row.chart, row.failsToUpgrade, row.cannotRollBack) })
			t.Run("template", func(t *testing.T) {
				compareTemplate(t, row.chart, row.failsToUpgrade, row.cannotReturn, append(slices.Clone(row.onlyTemplate), row.stays...))
			})
		})
	}
}

// compareRelease rolls back from upgrades that fail: with the values of the second version, which drops nothing, where the library cannot go back from those
// of the first one, and with these.
func compareRelease(t *testing.T, name string, failsToUpgrade, cannotRollBack bool) {
	f := newFixture(t)
	l := f.library()
	files := chartFiles(t, name)
	f.configure(f.packed(files, "1", nil))
	f.succeed(f.deployer())
	require.NoError(t, l.run(files, "1", false))
	f.isLike(l, "install")

	f.next(f.packed(files, "2", config{"retries": 0}))
	_, err := f.ensure(f.deployer())
	assert.Equal(t, failsToUpgrade, err != nil, err)
	assert.Equal(t, failsToUpgrade, l.run(files, "2", true) != nil)
	f.isLike(l, "upgrade")

	upgraded := f.objects()
	rollsBack := func(to int, values string, isRefused bool) {
		t.Helper()
		bad := maps.Clone(files)
		bad["templates/broken.yaml"] = broken
		content := f.packed(bad, values, nil)
		content["helmDeploymentConfig"] = config{"upgrade": config{"wait": false, "remediation": config{"retries": 0, "remediateLastFailure": true}}}
		f.next(content)
		require.True(t, isFinal(f.fail(f.deployer())))
		require.Error(t, l.run(bad, values, true))
		rollback := action.NewRollback(l.helm)
		rollback.Version = to
		assert.Equal(t, isRefused, rollback.Run("hello-world") != nil)
	}
	if cannotRollBack {
		rollsBack(2, "2", false)
		f.isLike(l, "rollback that drops nothing")
		rollsBack(4, "1", true)
		assert.Equal(t, upgraded, f.objects(), "objects after the rollback")
		f.remove(f.deployer())
		assert.Empty(t, f.objects())
		assert.Empty(t, f.revisions())
		return
	}
	if !failsToUpgrade {
		rollsBack(2, "1", false)
	}
	f.isLike(l, "rollback")
	f.remove(f.deployer())
	l.uninstall(func(*action.Uninstall) {})
	f.isLike(l, "uninstall")
}

func compareTemplate(t *testing.T, name string, failsToUpgrade, cannotReturn bool, except []string) {
	f := newFixture(t)
	l := f.library()
	files := chartFiles(t, name)
	apply := func(version string) config {
		content := f.packed(files, version, nil)
		content["helmDeployment"] = false
		return content
	}
	f.configure(apply("1"))
	f.settle(f.deployer().Ensure)
	require.NoError(t, l.run(files, "1", false))
	f.hasObjectsOf(l, except, "install")
	installed := f.unmarked()

	f.next(apply("2"))
	err := l.run(files, "2", true)
	if failsToUpgrade {
		require.Error(t, err)
		f.fail(f.deployer())
	} else {
		require.NoError(t, err)
		f.settle(f.deployer().Ensure)
	}
	f.hasObjectsOf(l, except, "upgrade")

	f.next(apply("1")) // without a history, whoever wants the former version back says so
	f.settle(f.deployer().Ensure)
	rollback := action.NewRollback(l.helm)
	rollback.Version = 1
	assert.Equal(t, cannotReturn, rollback.Run("hello-world") != nil)
	if cannotReturn {
		assert.Equal(t, installed, f.unmarked(), "objects after the rollback")
	} else {
		f.hasObjectsOf(l, except, "rollback")
	}

	f.item.Generation++
	f.settle(f.deployer().Delete)
	l.uninstall(func(*action.Uninstall) {})
	f.hasObjectsOf(l, except, "uninstall")
}

// packed is a configuration with a chart that is not waited for, and the values of a version of it.
func (f *fixture) packed(files map[string]string, version string, upgrade config) config {
	return config{
		"chart": raw(archive(f, "1.0.0", files)), "values": valuesOf(version), "readinessChecks": config{"disableDefault": true},
		"helmDeploymentConfig": config{"upgrade": upgrade},
	}
}

func valuesOf(version string) map[string]any {
	return map[string]any{"v": version, "drop": map[string]any{"me": nil}}
}

// chartFiles are the files of a chart of testdata.
func chartFiles(t *testing.T, name string) map[string]string {
	t.Helper()
	files, root := map[string]string{}, filepath.Join("testdata/charts", name)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		relative, _ := filepath.Rel(root, path)
		files[filepath.ToSlash(relative)] = string(content)
		return err
	}))
	return files
}

func (l library) loadFiles(files map[string]string) *helmchart.Chart {
	l.Helper()
	packed, err := servers.PackageChart(servers.Files(files))
	require.NoError(l, err)
	chart, err := loader.LoadArchive(bytes.NewReader(packed))
	require.NoError(l, err)
	return chart
}

// run installs or upgrades.
func (l library) run(files map[string]string, version string, isUpgrade bool) error {
	l.Helper()
	if isUpgrade {
		upgrade := action.NewUpgrade(l.helm)
		upgrade.Namespace, upgrade.Timeout, upgrade.ResetValues = l.namespace, time.Second, true
		_, err := upgrade.RunWithContext(l.ctx, "hello-world", l.loadFiles(files), valuesOf(version))
		return err
	}
	install := action.NewInstall(l.helm)
	install.ReleaseName, install.Namespace, install.Timeout = "hello-world", l.namespace, time.Second
	_, err := install.RunWithContext(l.ctx, l.loadFiles(files), valuesOf(version))
	return err
}

// comparedKinds are the kinds that the charts have.
var comparedKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Secret"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
	{Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "PersistentVolumeClaim"},
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"}, {Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "RoleBinding"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"}, {Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"},
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}, {Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	{Group: "compare.example.org", Version: "v1", Kind: "Gadget"},
}

// objects are what a namespace holds, by kind and name, without what the API server adds.
func (f *fixture) objects() map[string]string {
	f.Helper()
	found := map[string]string{}
	for _, kind := range comparedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		err := f.cluster.Client.List(f.ctx, list, client.InNamespace(f.namespace))
		if meta.IsNoMatchError(err) {
			continue // no chart has defined the kind yet
		}
		require.NoError(f, err)
		for i := range list.Items {
			object := &list.Items[i]
			if isOfCluster(object) {
				continue
			}
			found[object.GetKind()+"/"+object.GetName()] = f.comparable(object)
		}
	}
	return found
}

// isOfCluster reports whether an object is no part of a chart.
func isOfCluster(object *unstructured.Unstructured) bool {
	name := object.GetName()
	return name == "kube-root-ca.crt" || strings.HasPrefix(name, "sh.helm.release.v1.") || name == "default" && object.GetKind() == "ServiceAccount"
}

// comparable is an object as text, without what differs between any two objects.
func (f *fixture) comparable(object *unstructured.Unstructured) string {
	f.Helper()
	for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "selfLink"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	for _, path := range [][]string{{"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"}} {
		unstructured.RemoveNestedField(object.Object, path...)
	}
	for _, path := range [][]string{{"metadata"}, {"spec", "template", "metadata"}, {"spec", "selector"}} { // of Jobs
		for _, field := range []string{"labels", "matchLabels"} {
			for _, label := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
				unstructured.RemoveNestedField(object.Object, append(slices.Clone(path), field, label)...)
			}
		}
	}
	text, err := json.MarshalIndent(object.Object, "", " ")
	require.NoError(f, err)
	return strings.ReplaceAll(string(text), f.namespace, "NAMESPACE")
}

// revisions say what is recorded of the release.
func (f *fixture) revisions() []string {
	f.Helper()
	recorded, err := f.person().helm.Releases.History("hello-world")
	if err != nil {
		require.ErrorContains(f, err, "not found")
	}
	var told []string
	for _, revision := range recorded {
		values, err := json.Marshal(revision.Config)
		require.NoError(f, err)
		description := strings.ReplaceAll(revision.Info.Description, f.namespace, "NAMESPACE")
		told = append(told, fmt.Sprintf("%d %s %s %s %s %s", revision.Version, revision.Info.Status, revision.Chart.Metadata.Version, values,
			description, strings.ReplaceAll(revision.Info.Notes, f.namespace, "NAMESPACE")))
	}
	slices.Sort(told)
	return told
}

func (f *fixture) isLike(l library, step string) {
	f.Helper()
	assert.Equal(f, l.objects(), f.objects(), "objects after the "+step)
	assert.Equal(f, l.revisions(), f.revisions(), "history after the "+step)
}

// hasObjectsOf compares without what Helm writes on the objects of a release, and the deployer on others.
func (f *fixture) hasObjectsOf(l library, except []string, step string) {
	f.Helper()
	library, own := l.unmarked(), f.unmarked()
	for _, name := range except {
		delete(library, name)
		delete(own, name)
	}
	assert.Equal(f, library, own, "objects after the "+step)
}

func (f *fixture) unmarked() map[string]string {
	f.Helper()
	objects := f.objects()
	for name, text := range objects {
		object := &unstructured.Unstructured{}
		require.NoError(f, json.Unmarshal([]byte(text), &object.Object))
		object.SetLabels(withoutMarks(object.GetLabels()))
		object.SetAnnotations(withoutMarks(object.GetAnnotations()))
		plain, err := json.MarshalIndent(object.Object, "", " ")
		require.NoError(f, err)
		objects[name] = string(plain)
	}
	return objects
}

func withoutMarks(marks map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range marks {
		if !strings.HasPrefix(key, "meta.helm.sh/") && !strings.Contains(key, "landscaper") && key != "app.kubernetes.io/managed-by" {
			kept[key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
