// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// loseRecord removes the status of the item, and says so as the Execution does when it starts the next job.
func (f *fixture) loseRecord() {
	f.item.Status = v1alpha1.DeployItemStatus{}
	conditions.MarkTrue(f.item, v1alpha1.RecordLostCondition, "Test", "lost")
	f.newJob()
}

func TestADeletionWithoutRecordRemovesWhatIsOnTheTarget(t *testing.T) {
	for name, tc := range map[string]struct {
		driver  string
		content config
	}{
		"a release in Secrets":    {driver: engine.DriverSecret},
		"a release in ConfigMaps": {driver: engine.DriverConfigMap},
		"objects of a chart":      {content: config{"helmDeployment": false}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.options.Driver = tc.driver
			d := f.deployer()
			content := config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})}
			maps.Copy(content, tc.content)
			f.configure(content)
			f.succeed(d)
			f.configMap("a")
			f.loseRecord()

			f.item.Generation++
			f.settle(d.Delete)

			f.isEmpty()
		})
	}
}

func TestADeletionWithoutRecordFindsReleasesOfEarlierNames(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	elsewhere := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace + "-before"}}
	require.NoError(t, f.cluster.Client.Create(f.ctx, elsewhere))
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")}), "name": "before", "namespace": elsewhere.Name})
	f.succeed(d)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.loseRecord()

	f.remove(d)

	left := &corev1.SecretList{}
	require.NoError(t, f.cluster.Client.List(f.ctx, left, client.InNamespace(elsewhere.Name)))
	assert.Empty(t, left.Items)
}

func TestADeletionWithoutRecordLeavesReleasesOfOthers(t *testing.T) {
	for name, own := range map[string]func(f *fixture) *fixture{
		"of another item": func(f *fixture) *fixture { return f.sibling("another") },
		"of an item of the name with another UID": func(f *fixture) *fixture {
			namesake := f.sibling(f.item.Name)
			namesake.item.UID = types.UID(uuid.NewString())
			return namesake
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			d := f.deployer()
			chart := f.chart("1.0.0", map[string]string{"a": named("a")})
			f.configure(config{"chart": chart})
			f.succeed(d)
			other := own(f)
			other.configure(config{"chart": chart})
			other.loseRecord()

			other.remove(d)

			f.configMap("a")
			assert.NotNil(t, f.release())
		})
	}
}

func TestADeletionWithoutRecordNeedsTheTarget(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(d)
	f.loseRecord()
	item := f.contractItem()
	item.Target, item.TargetProblem = nil, errors.New("Target cluster does not exist")

	outcome, err := d.Delete(f.ctx, item)

	require.Error(t, err)
	assert.False(t, outcome.Done)
	assert.Contains(t, err.Error(), v1alpha1.DeleteWithoutUninstallAnnotation)
	_, isKnown := d.(contract.SiteKeeper).Sites(f.item)
	assert.False(t, isKnown)
	f.remove(d)
	f.isEmpty()
}

func TestTheNextJobFindsWhatTheRecordLost(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")}), "name": "before"})
	f.succeed(d)
	f.loseRecord()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"b": named("b")})})

	f.succeed(d)

	assert.True(t, f.isGone("a"))
	f.configMap("b")
	require.Len(t, f.status().Inventory.Releases, 1)
	assert.Equal(t, "hello-world", f.status().Inventory.Releases[0].Name)
}

// restricted returns the cluster for a user without rights, and the user.
func (f *fixture) restricted() (*target.Cluster, string) {
	f.Helper()
	limited := rest.CopyConfig(f.platform.RestConfig)
	limited.Impersonate = rest.ImpersonationConfig{UserName: "reader-of-" + f.namespace}
	cluster := *f.cluster
	cluster.Config = limited
	var err error
	cluster.Client, err = client.New(limited, client.Options{})
	require.NoError(f, err)
	return &cluster, limited.Impersonate.UserName
}

// allow gives a user rights in the namespace.
func (f *fixture) allow(user string, rule rbacv1.PolicyRule) {
	f.Helper()
	role := &rbacv1.Role{ObjectMeta: f.meta("reader"), Rules: []rbacv1.PolicyRule{rule}}
	binding := &rbacv1.RoleBinding{ObjectMeta: f.meta("reader"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}
	require.NoError(f, f.platform.Client().Create(f.ctx, role))
	require.NoError(f, f.platform.Client().Create(f.ctx, binding))
}

func TestADeletionWithoutRecordNeedsRightsToLook(t *testing.T) {
	for name, content := range map[string]config{
		"a release":          {},
		"objects of a chart": {"helmDeployment": false},
		"nobody knows":       {"chart": 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			d := f.deployer()
			f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")}), "helmDeployment": content["helmDeployment"] == nil})
			f.succeed(d)
			if content["chart"] != nil {
				f.configure(content)
			}
			f.loseRecord()
			f.item.Generation++
			all := f.cluster
			f.cluster, _ = f.restricted()

			outcome, err := d.Delete(f.ctx, f.contractItem())

			require.ErrorContains(t, err, "forbidden")
			assert.Contains(t, err.Error(), v1alpha1.DeleteWithoutUninstallAnnotation)
			assert.False(t, outcome.Done)
			f.cluster = all
			f.configMap("a")
		})
	}
}

func TestADeletionWithoutRecordAndReleaseNeedsNoRightsForReleases(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")}), "helmDeployment": false})
	f.succeed(d)
	f.loseRecord()
	f.item.Generation++
	all := f.cluster
	restricted, user := f.restricted()
	f.allow(user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
	require.Eventually(t, func() bool { // the API server learns of the binding by a watch
		return restricted.Client.List(f.ctx, &corev1.ConfigMapList{}, client.InNamespace(f.namespace)) == nil
	}, time.Minute, 20*time.Millisecond)
	f.cluster = restricted

	f.settle(d.Delete)

	f.cluster = all
	f.isEmpty()
}

// TestReleasesAreLookedForAsFarAsTheyMayBeListed acts as a user with few rights.
func TestReleasesAreLookedForAsFarAsTheyMayBeListed(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(f.deployer())
	restricted, user := f.restricted()
	e, err := engine.New(engine.Options{})
	require.NoError(t, err)
	labels := map[string]string{v1alpha1.HelmDeployItemLabel: f.item.Name}

	_, err = e.Labelled(f.ctx, restricted, labels, f.namespace)
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	_, err = e.Labelled(f.ctx, restricted, labels)
	require.True(t, apierrors.IsForbidden(err), "%v", err)

	f.allow(user, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}})
	var found []managedresource.ReleaseReference
	require.Eventually(t, func() bool { // the API server learns of the binding by a watch
		found, err = e.Labelled(f.ctx, restricted, labels, f.namespace)
		return !apierrors.IsForbidden(err)
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, []managedresource.ReleaseReference{{Namespace: f.namespace, Name: "hello-world"}}, found)
}
