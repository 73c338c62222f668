// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
)

// tenant returns the client of somebody who has the role edit in a namespace, and all rights on our kinds there.
func (s *stage) tenant(namespace string) client.Client {
	s.t.Helper()
	people, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "rbac", "people.yaml"))
	require.NoError(s.t, err)
	require.NoError(s.t, s.p.ApplyYAML(s.ctx, string(people)))
	user := "tenant-of-" + namespace
	access, err := s.p.NewUser(user)
	require.NoError(s.t, err)
	kinds := rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}}
	s.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "kinds"}, Rules: []rbacv1.PolicyRule{kinds}})
	for role, kind := range map[string]string{"edit": "ClusterRole", "kinds": "Role"} {
		s.create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant-" + role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	}
	c, err := client.New(access, client.Options{Scheme: s.client.Scheme(), Mapper: s.client.RESTMapper()})
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool { // the API server learns of the bindings by a watch
		return c.List(s.ctx, &corev1.SecretList{}, client.InNamespace(namespace)) == nil &&
			c.List(s.ctx, &v1alpha1.DeployItemList{}, client.InNamespace(namespace)) == nil
	}, patience, tick)
	return c
}

// lookalikes are objects of a namespace that look like those of a deployer in an Environment, of its agent, and of a deployer that is alive.
func lookalikes(t *testing.T, namespace, home string, key pair.Key) []client.Object {
	t.Helper()
	named := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: key.Labels(), Annotations: map[string]string{v1alpha1.EnvironmentAnnotation: key.Environment}}
	}
	installation := &v1alpha1.Installation{ObjectMeta: named(key.Name())}
	installation.Finalizers = []string{v1alpha1.DeployerManagementFinalizer}
	stray := installation.DeepCopy()
	stray.Name, stray.Labels = "stray", pair.Key{Registration: key.Registration, Environment: "gone"}.Labels()
	_, public, err := enrolment.NewKey()
	require.NoError(t, err)
	claim := &corev1.Secret{ObjectMeta: named(enrolment.ClaimPrefix + key.Environment), Data: map[string][]byte{enrolment.PublicKey: public}}
	item := &v1alpha1.DeployItem{ObjectMeta: named("item"), Spec: v1alpha1.DeployItemSpec{
		Type: v1alpha1.HelmDeployItemType, Target: &v1alpha1.DeployItemTarget{Namespace: home, Name: key.Environment},
	}}
	item.Labels[v1alpha1.ExecutionManagedByLabel] = key.Name()
	agent := &coordinationv1.Lease{ObjectMeta: named(v1alpha1.AgentLeasePrefix + key.Environment), Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(5))}}
	agent.Annotations[v1alpha1.AgentVersionAnnotation] = "v9.9.9"
	deployer := &coordinationv1.Lease{ObjectMeta: named(v1alpha1.DeployerLeasePrefix + "helm")}
	deployer.Labels[v1alpha1.DeployerLeaseLabel] = "helm"
	target := v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType}
	return []client.Object{
		installation, stray, claim, item, agent, deployer,
		&v1alpha1.Target{ObjectMeta: named(key.Environment), Spec: target}, &v1alpha1.Target{ObjectMeta: named(key.Name()), Spec: target},
		&corev1.ServiceAccount{ObjectMeta: named(key.Name())}, &corev1.ServiceAccount{ObjectMeta: named(enrolment.AccountPrefix + key.Environment)},
	}
}

// versions are the objects as they are, by kind and name.
func (s *stage) versions(objects []client.Object) map[string]string {
	s.t.Helper()
	found := map[string]string{}
	for _, object := range objects {
		kind, err := apiutil.GVKForObject(object, s.client.Scheme())
		require.NoError(s.t, err)
		now := object.DeepCopyObject().(client.Object)
		require.NoError(s.t, s.client.Get(s.ctx, client.ObjectKeyFromObject(object), now), kind.Kind+" "+object.GetName())
		found[kind.Kind+" "+now.GetName()] = now.GetResourceVersion()
	}
	return found
}

func TestLookalikesOfAnEnvironmentAreNobodysButTheTenants(t *testing.T) {
	s := newStage(t, isolated)
	shop := s.p.Namespace(t)
	tenant := s.tenant(shop)
	home := s.admit("copied", shop)
	forged := lookalikes(t, shop, home, pair.Key{Registration: "helm", Environment: "copied"})
	for _, object := range forged {
		require.NoError(t, tenant.Create(s.ctx, object), "%T %s", object, object.GetName())
	}
	before := s.versions(forged)
	env, registration := s.env("copied"), deployer("helm", v1alpha1.HelmDeployItemType)
	s.create(env, registration)
	at := s.at(home)
	at.triggered("helm-copied")
	at.succeed("helm-copied")

	s.create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: home, Name: v1alpha1.AgentLeasePrefix + "copied", Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: "copied"},
		Annotations: map[string]string{v1alpha1.AgentVersionAnnotation: "v1.2.3"},
	}, Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: new(int32(5))}})
	at.beat("copied", 5)
	at.connected("copied", metav1.ConditionTrue)
	lease := forged[slices.IndexFunc(forged, func(o client.Object) bool { return o.GetName() == v1alpha1.AgentLeasePrefix+"copied" })].(*coordinationv1.Lease)
	require.Eventually(t, func() bool { // only the Lease of the tenant is renewed
		now := metav1.NewMicroTime(time.Now())
		lease.Spec.RenewTime = &now
		require.NoError(t, tenant.Update(s.ctx, lease))
		require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(env), env))
		return !isConnected(env)
	}, patience, 100*time.Millisecond, "the tenant keeps the agent of another alive")
	assert.Equal(t, "v1.2.3", env.Status.AgentVersion)
	assert.Equal(t, home, env.Status.Namespace)
	require.Len(t, env.Status.Deployers, 1)
	assert.Equal(t, "helm", env.Status.Deployers[0].Name)
	installed := until(s, registration, func(d *v1alpha1.DeployerRegistration) bool { return len(d.Status.Environments) > 0 })
	assert.Len(t, installed.Status.Environments, 1)
	secrets := &corev1.SecretList{}
	require.NoError(t, s.client.List(s.ctx, secrets, client.InNamespace(shop)))
	assert.Len(t, secrets.Items, 1, "a claim outside of the namespace of an Environment has no answer")

	require.NoError(t, s.client.Delete(s.ctx, registration))
	require.NoError(t, s.client.Delete(s.ctx, env))
	at.uninstall("helm-copied")
	s.gone(registration)
	until(s, env, func(e *v1alpha1.Environment) bool { return len(e.Finalizers) == 1 })
	edit(s, env, func(e *v1alpha1.Environment) { e.Finalizers = nil })
	s.gone(env)
	s.requireSteady()
	after := s.versions(forged)
	delete(before, "Lease "+lease.Name)
	delete(after, "Lease "+lease.Name)
	assert.Equal(t, before, after, "%v", slices.Sorted(maps.Keys(before)))

	for what, object := range map[string]client.Object{
		"the host Target": &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "copied"}},
		"a namespace":     &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-env-conquered"}},
		"an Environment":  s.env("conquered"),
		"a binding":       &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "x"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}},
	} {
		err := tenant.Create(s.ctx, object)
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", what, err)
	}
}

func isConnected(env *v1alpha1.Environment) bool {
	for _, condition := range env.Status.Conditions {
		if condition.Type == v1alpha1.AgentConnectedCondition {
			return condition.Status == metav1.ConditionTrue
		}
	}
	return false
}
