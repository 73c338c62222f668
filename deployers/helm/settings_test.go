// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"bytes"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/action"
	helmchart "helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/release"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const jobTemplate = `apiVersion: batch/v1
kind: Job
metadata: {name: work}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: none}]}}}
`

const unknownFieldTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: odd}\nunknown: true\n"

// library is a namespace in which the Helm library itself does what the deployer does in that of the fixture.
type library struct{ person }

func (f *fixture) library() library {
	f.Helper()
	copied := *f
	copied.namespace = f.platform.Namespace(f.T)
	return library{copied.person()}
}

func (l library) load(files map[string]string) *helmchart.Chart {
	l.Helper()
	chart, err := loader.LoadArchive(bytes.NewReader(archive(l, "1.0.0", files)))
	require.NoError(l, err)
	return chart
}

func (l library) install(files map[string]string, set func(*action.Install)) error {
	l.Helper()
	install := action.NewInstall(l.helm)
	install.ReleaseName, install.Namespace, install.Timeout = "hello-world", l.namespace, time.Second
	set(install)
	_, err := install.RunWithContext(l.ctx, l.load(files), map[string]any{"testData": "hello"})
	return err
}

func (l library) upgradeBy(files map[string]string, set func(*action.Upgrade)) error {
	l.Helper()
	upgrade := action.NewUpgrade(l.helm)
	upgrade.Namespace, upgrade.Timeout = l.namespace, time.Second
	set(upgrade)
	_, err := upgrade.RunWithContext(l.ctx, "hello-world", l.load(files), map[string]any{"testData": "hello"})
	return err
}

func (l library) uninstall(set func(*action.Uninstall)) {
	l.Helper()
	uninstall := action.NewUninstall(l.helm)
	uninstall.Timeout = time.Second
	set(uninstall)
	_, err := uninstall.Run("hello-world")
	require.NoError(l, err)
}

// configMaps says which ConfigMaps a namespace has, and whether they are on their way out.
func (f *fixture) configMaps() map[string]string {
	f.Helper()
	list := &corev1.ConfigMapList{}
	require.NoError(f, f.cluster.Client.List(f.ctx, list, client.InNamespace(f.namespace)))
	found := map[string]string{}
	for _, object := range list.Items {
		state := "here"
		if object.DeletionTimestamp != nil {
			state = strings.Join(object.Finalizers, " ")
		}
		found[object.Name] = state
	}
	delete(found, "kube-root-ca.crt")
	return found
}

// history is the states of the revisions that are recorded.
func (f *fixture) history() []release.Status {
	f.Helper()
	revisions, err := f.person().helm.Releases.History("hello-world")
	if err != nil {
		require.ErrorContains(f, err, "not found")
	}
	states := make([]release.Status, 0, len(revisions))
	for _, revision := range revisions {
		states = append(states, revision.Info.Status)
	}
	return states
}

// equals asserts that the deployer has done what the library has done.
func (f *fixture) equals(l library) {
	f.Helper()
	assert.Equal(f, l.configMaps(), f.configMaps())
	assert.ElementsMatch(f, l.history(), f.history())
}

func (f *fixture) with(files map[string]string, settings config) config {
	return config{"chart": raw(archive(f, "1.0.0", files)), "values": config{"testData": "hello"}, "helmDeploymentConfig": settings}
}

var hookedFiles = map[string]string{"templates/cm.yaml": configMapTemplate, "templates/hook.yaml": hookTemplate}

func TestDisableHooksIsThatOfHelm(t *testing.T) {
	f := newFixture(t)
	l := f.library()
	off := config{"disableHooks": true}
	f.configure(f.with(hookedFiles, config{"install": off, "upgrade": off, "uninstall": off}))
	f.succeed(f.deployer())
	require.NoError(t, l.install(hookedFiles, func(i *action.Install) { i.DisableHooks = true }))
	f.equals(l)
	assert.NotContains(t, f.configMaps(), "hook")

	more := map[string]string{"templates/cm.yaml": configMapTemplate, "templates/hook.yaml": hookTemplate, "templates/more.yaml": named("more")}
	f.next(f.with(more, config{"upgrade": off}))
	f.succeed(f.deployer())
	require.NoError(t, l.upgradeBy(more, func(u *action.Upgrade) { u.DisableHooks = true }))
	f.equals(l)
}

func TestKeepHistoryAndDeletionPropagationAreThoseOfHelm(t *testing.T) {
	f := newFixture(t)
	l := f.library()
	f.configure(f.with(personFiles, config{"uninstall": config{"keepHistory": true, "deletionPropagation": "foreground", "wait": false}}))
	f.succeed(f.deployer())
	require.NoError(t, l.install(personFiles, func(*action.Install) {}))
	f.remove(f.deployer())
	l.uninstall(func(u *action.Uninstall) { u.KeepHistory, u.DeletionPropagation = true, "foreground" })
	f.equals(l)
	assert.Equal(t, []release.Status{release.StatusUninstalled}, f.history())
	assert.Equal(t, metav1.FinalizerDeleteDependents, f.configMaps()["hello-world"])

	f.remove(f.deployer()) // the process died before the finalizer of the item went
	f.equals(l)
}

func TestAnUninstallThatIsFinishedLaterKeepsTheHistory(t *testing.T) {
	f := newFixture(t)
	f.configure(f.with(personFiles, config{"uninstall": config{"keepHistory": true}}))
	f.succeed(f.deployer())
	f.person().isAtWork(release.StatusUninstalling, time.Hour) // the process died in the middle, and the item is wanted again
	f.next(f.with(personFiles, config{"uninstall": config{"keepHistory": true}}))
	f.succeed(f.deployer())
	assert.Equal(t, []release.Status{release.StatusSuperseded, release.StatusDeployed}, f.history(), "the former revision is still there")
}

func TestCleanupOnFailIsThatOfHelm(t *testing.T) {
	added := map[string]string{"templates/cm.yaml": configMapTemplate, "templates/more.yaml": named("more"), "templates/s.yaml": broken}
	for _, isOn := range []bool{false, true} {
		f := newFixture(t)
		l := f.library()
		f.configure(f.with(personFiles, nil))
		f.succeed(f.deployer())
		require.NoError(t, l.install(personFiles, func(*action.Install) {}))
		f.next(f.with(added, config{"upgrade": config{"cleanupOnFail": isOn}}))
		f.fail(f.deployer())
		require.Error(t, l.upgradeBy(added, func(u *action.Upgrade) { u.CleanupOnFail = isOn }))
		f.equals(l)
	}
}

func TestWaitForJobsIsThatOfHelm(t *testing.T) {
	files := map[string]string{"templates/job.yaml": jobTemplate}
	for name, tc := range map[string]struct {
		settings config
		set      func(*action.Install)
		fails    bool
	}{
		"wait":               {config{}, func(*action.Install) {}, false},
		"waitForJobs":        {config{"waitForJobs": true}, func(i *action.Install) { i.WaitForJobs = true }, true},
		"disableWaitForJobs": {config{"disableWaitForJobs": false}, func(i *action.Install) { i.WaitForJobs = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			l := f.library()
			tc.settings["wait"], tc.settings["timeout"] = true, "1s"
			f.configure(f.with(files, config{"install": tc.settings}))
			_, err := f.ensure(f.deployer())
			library := l.install(files, func(i *action.Install) { i.Wait = true; tc.set(i) })
			assert.Equal(t, tc.fails, err != nil)
			assert.Equal(t, tc.fails, library != nil)
			f.equals(l)
		})
	}
}

func TestDisableOpenAPIValidationIsThatOfHelm(t *testing.T) {
	files := map[string]string{"templates/odd.yaml": unknownFieldTemplate}
	for _, isOff := range []bool{true, false} {
		f := newFixture(t)
		l := f.library()
		f.configure(f.with(files, config{"install": config{"disableOpenAPIValidation": isOff}}))
		_, err := f.ensure(f.deployer())
		library := l.install(files, func(i *action.Install) { i.DisableOpenAPIValidation = isOff })
		assert.Equal(t, library == nil, err == nil)
		assert.Equal(t, l.configMaps(), f.configMaps())
	}
}

// TestHooksNeedNoOpenAPIDocument has a hook beside an object: the document is large, and says only that the server checks fields by itself.
func TestHooksNeedNoOpenAPIDocument(t *testing.T) {
	f := newFixture(t)
	var documents atomic.Int32
	f.cluster = counting(f.cluster, &documents, func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/openapi") })
	f.configure(f.unchanged())
	f.succeed(f.deployer())
	assert.NotEmpty(t, f.hookUID())
	assert.Zero(t, documents.Load())
}

// TestKindsAreListedForChartsThatAskForThem counts the documents of everything that the cluster serves.
func TestKindsAreListedForChartsThatAskForThem(t *testing.T) {
	const asks = "# {{ .Capabilities.APIVersions.Has \"apps/v1\" }}\n"
	const renders = "# {{ tpl (default \"\" .Values.text) . | trim }}{{ .Capabilities.KubeVersion }}\n"
	for name, tc := range map[string]struct {
		template, file string
		values         map[string]any
		isListed       bool
	}{
		"asks for none":                {template: configMapTemplate + renders},
		"a template asks":              {template: configMapTemplate + asks, isListed: true},
		"a template hands all on":      {template: configMapTemplate + "# {{ toYaml .Capabilities | len }}\n", isListed: true},
		"a text of the values asks":    {template: configMapTemplate + renders, values: map[string]any{"text": asks}, isListed: true},
		"a default of the values asks": {template: configMapTemplate + renders, file: "text: '" + asks + "'", isListed: true},
	} {
		f := newFixture(t)
		var documents atomic.Int32
		f.cluster = counting(f.cluster, &documents, func(r *http.Request) bool { return r.URL.Path == "/api" || r.URL.Path == "/apis" })
		files := map[string]string{"templates/cm.yaml": tc.template}
		if tc.file != "" {
			files["values.yaml"] = tc.file
		}
		content := f.with(files, nil)
		if tc.values != nil {
			content["values"] = tc.values
		}
		f.configure(content)
		f.succeed(f.deployer())
		assert.Equal(t, tc.isListed, documents.Load() > 0, name)
	}
}

func TestMaxHistoryIsThatOfHelm(t *testing.T) {
	f := newFixture(t)
	l := f.library()
	f.configure(f.with(personFiles, nil))
	f.succeed(f.deployer())
	require.NoError(t, l.install(personFiles, func(*action.Install) {}))
	for _, name := range []string{"a", "b", "c"} {
		files := map[string]string{"templates/cm.yaml": named(name)}
		content := f.with(files, nil)
		content["maxHistory"] = 2
		f.next(content)
		f.succeed(f.deployer())
		require.NoError(t, l.upgradeBy(files, func(u *action.Upgrade) { u.MaxHistory = 2 }))
	}
	f.equals(l)
	assert.Len(t, f.history(), 2)
}

func TestCommonMetadataReachesAllButHooks(t *testing.T) {
	for _, isRelease := range []bool{true, false} {
		f := newFixture(t)
		content := f.with(map[string]string{"templates/cm.yaml": configMapTemplate, "templates/list.yaml": "apiVersion: v1\nkind: List\nitems: [" +
			"{apiVersion: v1, kind: ConfigMap, metadata: {name: listed, labels: {team: chart}}}]\n"}, nil)
		content["helmDeployment"] = isRelease
		content["commonMetadata"] = config{"labels": config{"team": "a"}, "annotations": config{"example.org/note": "b"}}
		f.configure(content)
		f.succeed(f.deployer())
		for _, name := range []string{"hello-world", "listed"} {
			object := &corev1.ConfigMap{}
			require.NoError(t, f.get(name, object))
			assert.Equal(t, "a", object.Labels["team"], name)
			assert.Equal(t, "b", object.Annotations["example.org/note"], name)
		}
		f.newJob()
		f.succeed(f.deployer())
		if isRelease {
			assert.Equal(t, 1, f.release().Revision)
		}
	}
}

// definitionOf is a definition whose group is that of the namespace.
func (f *fixture) definitionOf(field string) string {
	return `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.` + f.namespace + `.example.org}
spec:
  group: ` + f.namespace + `.example.org
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {` + field + `: {type: string}}}}
`
}

// definedField is the field that the definition on the cluster has, empty for no definition.
func (f *fixture) definedField() string {
	f.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition"})
	err := f.cluster.Client.Get(f.ctx, client.ObjectKey{Name: "things." + f.namespace + ".example.org"}, object)
	if apierrors.IsNotFound(err) {
		return ""
	}
	require.NoError(f, err)
	versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
	require.NoError(f, err)
	properties, _, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties")
	require.NoError(f, err)
	for field := range properties {
		return field
	}
	return ""
}

func TestCRDsAreSkippedCreatedOrReplaced(t *testing.T) {
	for name, tc := range map[string]struct{ install, upgrade, afterInstall, afterUpgrade string }{
		"as Helm does":  {"", "", "a", "a"},
		"skip":          {"Skip", "Skip", "", ""},
		"late":          {"Skip", "Create", "", "b"},
		"create":        {"Create", "Create", "a", "a"},
		"CreateReplace": {"CreateReplace", "CreateReplace", "a", "b"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			settings := config{"install": config{"crds": tc.install}, "upgrade": config{"crds": tc.upgrade}}
			f.configure(f.with(map[string]string{"crds/thing.yaml": f.definitionOf("a"), "templates/cm.yaml": named("a")}, settings))
			f.succeed(f.deployer())
			assert.Equal(t, tc.afterInstall, f.definedField())

			files := map[string]string{"crds/thing.yaml": f.definitionOf("b"), "templates/cm.yaml": named("b")}
			if tc.afterUpgrade != "" {
				files["templates/thing.yaml"] = "apiVersion: " + f.namespace + ".example.org/v1\nkind: Thing\nmetadata: {name: one}\n"
			}
			f.next(f.with(files, settings))
			f.succeed(f.deployer())
			assert.Equal(t, tc.afterUpgrade, f.definedField())

			f.remove(f.deployer())
			assert.Equal(t, tc.afterUpgrade, f.definedField(), "a definition stays")
		})
	}
}
