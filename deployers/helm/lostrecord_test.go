// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
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
		"a release in memory":     {driver: engine.DriverMemory},
		"objects of a chart":      {content: config{"helmDeployment": false}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.options.Driver = tc.driver
			d := f.deployer()
			content := config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})}
			for key, value := range tc.content {
				content[key] = value
			}
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

// TestReleasesAreLookedForAsFarAsTheyMayBeListed acts as a user with few rights.
func TestReleasesAreLookedForAsFarAsTheyMayBeListed(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": f.chart("1.0.0", map[string]string{"a": named("a")})})
	f.succeed(f.deployer())
	limited := rest.CopyConfig(f.platform.RestConfig)
	limited.Impersonate = rest.ImpersonationConfig{UserName: "reader-of-" + f.namespace}
	restricted := *f.cluster
	restricted.Config = limited
	var err error
	restricted.Client, err = client.New(limited, client.Options{})
	require.NoError(t, err)
	e, err := engine.New(engine.Options{})
	require.NoError(t, err)
	labels := map[string]string{v1alpha1.HelmDeployItemLabel: f.item.Name}

	found, err := e.Labelled(f.ctx, &restricted, labels, f.namespace)
	require.NoError(t, err)
	assert.Empty(t, found)

	role := &rbacv1.Role{ObjectMeta: f.meta("reader"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}}}}
	binding := &rbacv1.RoleBinding{ObjectMeta: f.meta("reader"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: limited.Impersonate.UserName}}}
	require.NoError(t, f.platform.Client().Create(f.ctx, role))
	require.NoError(t, f.platform.Client().Create(f.ctx, binding))
	require.Eventually(t, func() bool { // the API server learns of the binding by a watch
		found, err = e.Labelled(f.ctx, &restricted, labels, f.namespace)
		return err != nil || len(found) > 0
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, []managedresource.ReleaseReference{{Namespace: f.namespace, Name: "hello-world"}}, found)
}
