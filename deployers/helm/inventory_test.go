// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// next configures the item anew and begins another job.
func (f *fixture) next(content config) {
	f.Helper()
	f.configure(content)
	f.newJob()
}

// status returns the recorded provider status.
func (f *fixture) status() *helmv1alpha1.ProviderStatus {
	f.Helper()
	require.NotNil(f, f.item.Status.ProviderStatus)
	status, err := helmv1alpha1.DecodeStatus(f.item.Status.ProviderStatus.Raw)
	require.NoError(f, err)
	return status
}

// isEmpty asserts that nothing of the item is on the target: no ConfigMap and no release.
func (f *fixture) isEmpty() {
	f.Helper()
	found := &corev1.ConfigMapList{}
	require.NoError(f, f.cluster.Client.List(f.ctx, found, client.InNamespace(f.namespace)))
	for _, object := range found.Items {
		assert.Equal(f, "kube-root-ca.crt", object.Name)
	}
	records := &corev1.SecretList{}
	require.NoError(f, f.cluster.Client.List(f.ctx, records, client.InNamespace(f.namespace)))
	assert.Empty(f, records.Items)
}

// failAnUpgrade leaves the object b, which the release does not have.
func (f *fixture) failAnUpgrade(d contract.Deployer) {
	f.Helper()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.next(config{"chart": f.chart("1.1.0", map[string]string{"a": named("a"), "b": named("b"), "s": broken})})
	f.fail(d)
}

// requireCleanUpgrade fails unless an upgrade that succeeds removes the object b.
func (f *fixture) requireCleanUpgrade(d contract.Deployer) {
	f.Helper()
	f.next(config{"chart": f.chart("1.2.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	assert.True(f, f.isGone("b"))
}

func TestD03AFailedUpgradeLeavesNothing(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.failAnUpgrade(d)
	f.configMap("b")

	f.requireCleanUpgrade(d)
	f.configMap("a")
	assert.Empty(t, f.status().Inventory.Sites)
	f.remove(d)
	f.isEmpty()
}

func TestD03TheDeletionRemovesWhatFailedUpgradesLeft(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.next(config{"chart": f.chart("1.1.0", map[string]string{"b": named("b"), "s": broken})})
	f.fail(d)
	f.next(config{"chart": f.chart("1.2.0", map[string]string{"c": named("c"), "s": broken})})
	f.fail(d)
	f.configMap("b")
	f.remove(d)
	f.isEmpty()
}

func TestD03AnInterruptedUpgradeLeavesNothing(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(f.deployer())
	f.next(config{"chart": f.chart("1.1.0", map[string]string{"a": named("a"), "b": named("b")})})
	f.crash(http.MethodPut, "/secrets/sh.helm.release.v1.hello-world.v2")
	f.configMap("b")
	f.requireCleanUpgrade(f.deployer())
	f.remove(f.deployer())
	f.isEmpty()
}

func TestD03AttemptsOutliveTheHistory(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.failAnUpgrade(d)
	record := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "sh.helm.release.v1.hello-world.v2"}}
	require.NoError(t, f.cluster.Client.Delete(f.ctx, record))

	f.requireCleanUpgrade(d)
}

func TestD03ARevisionIsForgottenOnlyWhenItIsRecorded(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "s": broken})})
	f.plan(f.deployer())
	planned := f.item.Status.ProviderStatus
	f.fail(f.deployer())
	f.memory, f.item.Status.ProviderStatus = map[string]any{}, planned // the process dies before it records the failure
	f.crash(http.MethodPost, "/secrets")

	f.next(config{"chart": f.chart("1.0.0", map[string]string{"b": named("b")})})
	f.succeed(f.deployer())
	assert.True(t, f.isGone("a"))
}

func TestD03AFailedHookLeavesNothing(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	hook := strings.Replace(broken, "{name: broken}", "{name: broken, annotations: {helm.sh/hook: post-install}}", 1)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "hook": hook})})
	for range 3 {
		require.ErrorContains(t, f.fail(d), "post-install")
	}
	assert.Equal(t, 1, f.release().Revision)
	f.next(config{"chart": f.chart("1.0.0", map[string]string{"b": named("b")})})
	f.succeed(d)
	assert.True(t, f.isGone("a"))
	f.remove(d)
	f.isEmpty()
}

func TestD03WhatIsKeptOrOfOthersStays(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.next(config{"chart": f.chart("1.1.0", map[string]string{"b": named("b"), "c": named("c"), "s": broken})})
	f.fail(d)
	kept, others := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	require.NoError(t, f.get("b", kept))
	kept.Annotations["helm.sh/resource-policy"] = "keep"
	require.NoError(t, f.cluster.Client.Update(f.ctx, kept))
	require.NoError(t, f.get("c", others))
	others.Annotations["meta.helm.sh/release-name"] = "another"
	require.NoError(t, f.cluster.Client.Update(f.ctx, others))

	f.next(config{"chart": f.chart("1.2.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.configMap("b")
	f.configMap("c")
}

func TestD03WhatHelmMayNotDeleteIsNotForgotten(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "b": named("b")})})
	f.succeed(d)
	whole := f.cluster
	f.cluster = refusing(whole, http.MethodDelete, "/configmaps/b")
	f.next(config{"chart": f.chart("1.1.0", map[string]string{"a": named("a")})})
	f.fail(d)

	f.cluster = whole
	f.succeed(d)
	assert.True(t, f.isGone("b"))
	assert.Equal(t, 2, f.release().Revision)
}

// intercepted is a cluster with something that happens before a request is sent; an error takes its place.
func intercepted(cluster *target.Cluster, method, suffix string, happens func() error) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == method && strings.HasSuffix(r.URL.Path, suffix) {
				if err := happens(); err != nil {
					return nil, err
				}
			}
			return next.RoundTrip(r)
		})
	})
	copied.Client, _ = client.New(copied.Config, client.Options{Mapper: cluster.Mapper})
	copied.Dynamic, _ = dynamic.NewForConfig(copied.Config)
	return &copied
}

// refusing is a cluster on which the credentials may not send a request.
func refusing(cluster *target.Cluster, method, suffix string) *target.Cluster {
	return intercepted(cluster, method, suffix, func() error { return apierrors.NewForbidden(corev1.Resource("configmaps"), "b", nil) })
}

func TestD03WhatAnotherTakesMeanwhileStays(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.next(config{"chart": f.chart("1.1.0", map[string]string{"b": named("b"), "s": broken})})
	f.fail(d)

	whole := f.cluster
	f.cluster = intercepted(whole, http.MethodDelete, "/configmaps/b", func() error {
		object := &corev1.ConfigMap{}
		require.NoError(t, whole.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "b"}, object))
		object.Annotations["meta.helm.sh/release-name"] = "another"
		return whole.Client.Update(f.ctx, object)
	})
	f.next(config{"chart": f.chart("1.2.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.configMap("b")
}

func TestD05WhatAnotherItemHasTakenIsNotAdopted(t *testing.T) {
	take := func(f *fixture, cluster *target.Cluster) error {
		object := &corev1.ConfigMap{}
		if err := cluster.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "a"}, object); err != nil {
			return err
		}
		object.Labels[v1alpha1.ManifestDeployItemLabel] = "another"
		return cluster.Client.Update(f.ctx, object)
	}
	for name, meanwhile := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			d := f.deployer()
			f.configure(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
			f.settle(d.Ensure)
			if whole := f.cluster; meanwhile {
				f.cluster = intercepted(whole, http.MethodPatch, "/configmaps/a", func() error { return take(f, whole) })
			} else {
				require.NoError(t, take(f, whole))
			}
			f.next(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
			f.fail(d)
			object := &corev1.ConfigMap{}
			require.NoError(t, f.get("a", object))
			assert.False(t, engine.IsOwned(object))
		})
	}
}

func TestD05ARenamedReleaseReplacesTheOldOne(t *testing.T) {
	for name, change := range map[string]config{
		"name":      {"name": "renamed"},
		"namespace": {"createNamespace": true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			d := f.deployer()
			chart := f.chart("1.0.0", map[string]string{"a": named("a"), "r": strings.ReplaceAll(role, "{{ .Release.Namespace }}", f.namespace)})
			f.configure(config{"chart": chart})
			f.succeed(d)

			change["chart"] = chart
			if name == "namespace" {
				change["namespace"] = f.namespace + "-new"
			}
			f.next(change)
			f.succeed(d)
			assert.Nil(t, f.release(), "the old release is gone")
			assert.Len(t, f.status().Inventory.Releases, 1)

			f.remove(d)
			assert.False(t, f.hasRole())
			f.isEmpty()
		})
	}
}

func TestD05AReleaseRenamedAfterACrashIsNotForgotten(t *testing.T) {
	f := newFixture(t)
	chart := f.chart("1.0.0", map[string]string{"a": named("a")})
	f.configure(config{"chart": chart})
	f.crash(http.MethodPut, "/secrets/sh.helm.release.v1.hello-world.v1")
	f.next(config{"chart": chart, "name": "renamed"})
	f.succeed(f.deployer())
	assert.Nil(t, f.release())
	f.remove(f.deployer())
	f.isEmpty()
}

func TestD05ARenamedReleaseThatFailsIsNotForgotten(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.next(config{"name": "second", "chart": f.chart("1.0.0", map[string]string{"b": named("b"), "s": broken})})
	f.fail(d)
	f.next(config{"name": "third", "chart": f.chart("1.0.0", map[string]string{"c": named("c")})})
	f.succeed(d)
	assert.True(t, f.isGone("a"))
	assert.True(t, f.isGone("b"))
	f.remove(d)
	f.isEmpty()
}

// uidOf returns the UID of a ConfigMap.
func (f *fixture) uidOf(name string) string {
	f.Helper()
	object := &corev1.ConfigMap{}
	require.NoError(f, f.get(name, object))
	return string(object.UID)
}

// role is a template of an object without a namespace, of the name of the namespace.
const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: {{ .Release.Namespace }}}\nrules: []\n"

// hasRole reports whether the object of role is there.
func (f *fixture) hasRole() bool {
	object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole"}}
	return f.cluster.Client.Get(f.ctx, client.ObjectKey{Name: f.namespace}, object) == nil
}

func TestD05FromAReleaseToTemplateMode(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "b": named("b"), "r": role})})
	f.succeed(d)
	before := f.uidOf("a")

	f.next(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": named("a"), "r": role})})
	f.settle(d.Ensure)
	assert.True(t, f.hasRole())
	assert.Equal(t, before, f.uidOf("a"), "what both modes have stays")
	assert.True(t, f.isGone("b"))
	assert.Nil(t, f.release())
	object := &corev1.ConfigMap{}
	require.NoError(t, f.get("a", object))
	assert.False(t, engine.IsOwned(object))
	assert.Empty(t, f.status().Inventory.Releases)

	f.item.Generation++
	f.settle(d.Delete)
	f.isEmpty()
}

func TestD05FromTemplateModeToARelease(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": named("a"), "b": named("b"), "r": role})})
	f.settle(d.Ensure)
	before := f.uidOf("a")

	f.next(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a"), "r": role})})
	f.settle(d.Ensure)
	assert.True(t, f.hasRole())
	assert.Equal(t, before, f.uidOf("a"), "what both modes have stays")
	assert.True(t, f.isGone("b"))
	assert.Equal(t, 1, f.release().Revision)
	adopted := &corev1.ConfigMap{}
	require.NoError(t, f.get("a", adopted))
	assert.Equal(t, []string{"app.kubernetes.io/managed-by"}, slices.Collect(maps.Keys(adopted.Labels)), "the marks of template mode are gone")
	assert.NotContains(t, adopted.Annotations, resources.OwnerUIDAnnotation)

	f.remove(d)
	f.isEmpty()
}

func TestD05AFailedChangeOfTheModeForgetsNothing(t *testing.T) {
	t.Run("to a release", func(t *testing.T) {
		f := newFixture(t)
		d := f.deployer()
		f.configure(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
		f.settle(d.Ensure)
		f.next(config{"chart": f.chart("1.0.0", map[string]string{"b": named("b"), "s": broken})})
		f.fail(d)
		f.item.Generation++
		f.settle(d.Delete)
		f.isEmpty()
	})
	t.Run("to template mode", func(t *testing.T) {
		f := newFixture(t)
		d := f.deployer()
		f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
		f.succeed(d)
		f.next(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"b": named("b"), "s": broken})})
		f.fail(d)
		f.item.Generation++
		f.settle(d.Delete)
		f.isEmpty()
	})
}

// second is a cluster that is started once for all tests that move items.
var second struct {
	sync.Once
	cluster *platform.Cluster
	err     error
}

// elsewhere makes another cluster the target of the item, and keeps the old one open as the Target old.
func (f *fixture) elsewhere() (old *target.Cluster) {
	f.Helper()
	second.Do(func() {
		second.cluster, second.err = f.platform.SecondCluster(context.Background(), "second", platform.Options{})
	})
	require.NoError(f, second.err)
	old, f.cluster = f.cluster, f.openBy(second.cluster.Kubeconfig)
	require.NoError(f, f.cluster.Client.Create(f.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}))
	return old
}

func TestD19ReleasesOnAnotherClusterAreUninstalled(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	chart := f.chart("1.0.0", map[string]string{"a": named("a")})
	f.configure(config{"chart": chart})
	f.succeed(d)

	old := f.elsewhere()
	f.cluster.Name = "new"
	f.next(config{"chart": chart})
	outcome := f.succeed(d)
	assert.Contains(t, outcome.Warning, "cannot uninstall 1 releases", "the old Target is gone, which is no reason not to deploy")
	f.configMap("a")
	require.Len(t, f.status().Inventory.Sites, 1)

	f.targets = map[string]*target.Cluster{old.Name: old}
	f.next(config{"chart": chart})
	outcome = f.succeed(d)
	assert.Empty(t, outcome.Warning)
	assert.Empty(t, f.status().Inventory.Sites)
	assert.True(t, apierrors.IsNotFound(old.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "a"}, &corev1.ConfigMap{})))

	f.remove(d)
	f.isEmpty()
}

func TestD19AReleaseOnAnotherClusterIsNotForgottenAfterACrash(t *testing.T) {
	f := newFixture(t)
	chart := f.chart("1.0.0", map[string]string{"a": named("a")})
	f.configure(config{"chart": chart})
	f.crash(http.MethodPut, "/secrets/sh.helm.release.v1.hello-world.v1")
	old := f.elsewhere()
	f.cluster.Name, f.targets = "new", map[string]*target.Cluster{old.Name: old}
	f.next(config{"chart": chart})
	assert.Empty(t, f.succeed(f.deployer()).Warning)
	f.remove(f.deployer())
	f.isEmpty()
	f.cluster = old
	f.isEmpty()
}

func TestD19ObjectsOnAnotherClusterAreNotForgottenAfterACrash(t *testing.T) {
	f := newFixture(t)
	f.applyAndDie(map[string]string{"templates/cm.yaml": configMapTemplate})
	old := f.elsewhere()
	f.cluster.Name, f.targets = "new", map[string]*target.Cluster{old.Name: old}
	f.next(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": named("a")})})

	assert.Empty(t, f.succeed(f.deployer()).Warning)

	assert.True(t, apierrors.IsNotFound(old.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: "hello-world"}, &corev1.ConfigMap{})))
	f.configMap("a")
}

func TestD19TheDeletionWaitsForTheOldCluster(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	old := f.elsewhere()
	f.targets = map[string]*target.Cluster{old.Name: f.cluster}
	f.item.Generation++
	_, err := d.Delete(f.ctx, f.contractItem())
	require.ErrorContains(t, err, "the Target leads to another cluster now")

	f.cluster = old
	f.remove(d)
	f.isEmpty()
}

func TestADeletionWithoutItsTargetUninstallsByAnotherThatLeadsThere(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	item := f.contractItem()
	other := *item.Target
	item.Target, item.TargetProblem = nil, &target.Error{Reason: target.ReasonNotFound}
	item.Targets = func(context.Context, string) (*target.Cluster, error) { return nil, item.TargetProblem }
	var asked []string
	item.Leading = func(_ context.Context, address string) ([]*target.Cluster, error) {
		asked = append(asked, address)
		return []*target.Cluster{&other}, nil
	}

	outcome, err := d.Delete(f.ctx, item)

	require.NoError(t, err)
	assert.True(t, outcome.Done)
	assert.Equal(t, []string{other.Address()}, asked)
	f.isEmpty()
}

func TestD13AnItemThatWasNeverDeployedNeedsNoTarget(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	item := f.contractItem()
	item.Target, item.TargetProblem = nil, context.DeadlineExceeded
	outcome, err := f.deployer().Delete(f.ctx, item)
	require.NoError(t, err)
	assert.True(t, outcome.Done)

	f.succeed(f.deployer())
	item = f.contractItem()
	item.Target, item.TargetProblem = nil, context.DeadlineExceeded
	_, err = f.deployer().Delete(f.ctx, item)
	require.ErrorContains(t, err, "cannot uninstall 1 releases", "no Target leads there")
}

func TestAReleaseOfTheExistingSystemGoesWithItsItem(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(f.deployer())
	f.unlabel("sh.helm.release.v1.hello-world.v1")
	f.item.Status.ProviderStatus.Raw = []byte(`{"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderStatus"}`)
	f.remove(f.deployer())
	f.isEmpty()
}
