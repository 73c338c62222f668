// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestAPairGetsAllThatItsDeployerNeeds(t *testing.T) {
	s := newStage(t)
	env, registration := s.env("east"), deployer("helm", v1alpha1.HelmDeployItemType)
	s.create(env, registration)
	installation := s.triggered("helm-east")
	assert.Contains(t, installation.Finalizers, v1alpha1.DeployerManagementFinalizer)
	assert.Equal(t, "east", installation.Labels[v1alpha1.DeployerEnvironmentLabel])
	assert.Equal(t, "helm", installation.Labels[v1alpha1.DeployerRegistrationLabel])
	assert.Equal(t, "helm", installation.Spec.Blueprint.Reference.ResourceName)
	assert.Equal(t, []v1alpha1.TargetImport{{Name: "cluster", Target: "#east"}, {Name: "landscaperCluster", Target: "#helm-east"}}, installation.Spec.Imports.Targets)
	mappings, err := json.Marshal(installation.Spec.ImportDataMappings)
	require.NoError(t, err)
	assert.JSONEq(t, `{"identity": "helm-east", "releaseName": "helm-east", "releaseNamespace": "fence", "values": {"a": 1}, "targetSelectors": [{"annotations": [
		{"key": "landscaper.gardener.cloud/environment", "operator": "=", "values": ["east"]}, {"key": "landscaper.gardener.cloud/deployer-only", "operator": "!"}]}]}`, string(mappings))

	host := &v1alpha1.Target{ObjectMeta: s.named("east")}
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(host), host))
	assert.True(t, metav1.IsControlledBy(host, env))
	assert.Equal(t, map[string]string{v1alpha1.EnvironmentAnnotation: "east", v1alpha1.DeployerOnlyAnnotation: "true"}, host.Annotations)
	assert.JSONEq(t, `{"kubeconfig": {"secretRef": {"name": "east-target-access", "namespace": "fence", "key": "kubeconfig"}}}`, string(host.Spec.Configuration.RawMessage))

	for _, role := range []string{"", "-helm"} {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "helm-east" + role}}
		require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(binding), binding))
		assert.Equal(t, "landscaper:deployer"+role, binding.RoleRef.Name)
	}
	items := &v1alpha1.DeployItemList{}
	require.NoError(t, s.asDeployer("helm-east").List(s.ctx, items), "the token in the Target works")
	secrets := &corev1.SecretList{}
	require.NoError(t, s.client.List(s.ctx, secrets, client.InNamespace(s.namespace)))
	assert.Empty(t, secrets.Items, "no token lies in a Secret")

	s.succeed("helm-east")
	s.beat("east", 45)
	s.beat("east", 45)
	ready := until(s, env, func(e *v1alpha1.Environment) bool { return conditions.IsReady(e) && e.Status.AgentVersion != "" })
	assert.Equal(t, []v1alpha1.EnvironmentDeployer{{Name: "helm", Version: "v1.0.0", Ready: true}}, ready.Status.Deployers)
	assert.Equal(t, "v1.2.3", ready.Status.AgentVersion)
	installed := until(s, registration, func(d *v1alpha1.DeployerRegistration) bool { return conditions.IsReady(d) })
	assert.Equal(t, []v1alpha1.RegistrationEnvironment{{Name: "east", Installation: "helm-east", Ready: true}}, installed.Status.Environments)
	s.requireSteady()
}

func TestAChangedRegistrationChangesItsInstallations(t *testing.T) {
	s := newStage(t)
	registration := deployer("mock")
	s.create(s.env("east"), s.env("west"), registration)
	s.triggered("mock-east")
	s.triggered("mock-west")
	edit(s, registration, func(d *v1alpha1.DeployerRegistration) {
		d.Spec.InstallationTemplate.ComponentDescriptor.Reference.Version = "v2.0.0"
	})
	for _, name := range []string{"mock-east", "mock-west"} {
		until(s, &v1alpha1.Installation{ObjectMeta: s.named(name)}, func(i *v1alpha1.Installation) bool {
			return i.Spec.ComponentDescriptor.Reference.Version == "v2.0.0"
		})
	}
	s.requireSteady()
}

func TestRightsEndAtTheNamespacesOfTheEnvironment(t *testing.T) {
	s := newStage(t)
	one, two := s.p.Namespace(t), s.p.Namespace(t)
	for _, namespace := range []string{one, two, s.namespace} {
		s.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "secret"}})
		s.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "account"}})
	}
	env := s.env("east", in(one))
	s.create(env, deployer("mock"))
	s.triggered("mock-east")
	c := s.asDeployer("mock-east")
	read := func(namespace string) error {
		return c.Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: "secret"}, &corev1.Secret{})
	}
	token := func(namespace string) error {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "account"}}
		return c.SubResource("token").Create(s.ctx, account, &authenticationv1.TokenRequest{})
	}
	require.Eventually(t, func() bool { return read(one) == nil }, patience, tick)
	require.NoError(t, c.List(s.ctx, &v1alpha1.DeployItemList{}, client.InNamespace(one)))
	for name, refused := range map[string]error{
		"secret of another namespace": read(two), "secret of the management": read(s.namespace),
		"token of its own namespace": token(one), "token of another namespace": token(two), "token of the management": token(s.namespace),
		"items of all":            c.List(s.ctx, &v1alpha1.DeployItemList{}),
		"items of another":        c.List(s.ctx, &v1alpha1.DeployItemList{}, client.InNamespace(two)),
		"targets of all":          c.List(s.ctx, &v1alpha1.TargetList{}),
		"targets of management":   c.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: "mock-east"}, &v1alpha1.Target{}),
		"secrets of all":          c.List(s.ctx, &corev1.SecretList{}),
		"environments":            c.List(s.ctx, &v1alpha1.EnvironmentList{}),
		"registrations":           c.List(s.ctx, &v1alpha1.DeployerRegistrationList{}),
		"installations":           c.List(s.ctx, &v1alpha1.InstallationList{}),
		"roles of all":            c.List(s.ctx, &rbacv1.ClusterRoleBindingList{}),
		"a binding of its own":    c.Create(s.ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: one, Name: "x"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"}}),
		"an item that it makes":   c.Create(s.ctx, &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: one, Name: "x"}, Spec: v1alpha1.DeployItemSpec{Type: "x"}}),
		"a namespace of its own":  c.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "own"}}),
		"pods of its namespace":   c.List(s.ctx, &corev1.PodList{}, client.InNamespace(one)),
		"config maps of its own":  c.List(s.ctx, &corev1.ConfigMapList{}, client.InNamespace(one)),
		"secrets that it can see": c.List(s.ctx, &corev1.SecretList{}, client.InNamespace(one)),
	} {
		assert.True(t, apierrors.IsForbidden(refused), "%s: %v", name, refused)
	}

	edit(s, env, in(two))
	require.Eventually(t, func() bool { return read(two) == nil && apierrors.IsForbidden(read(one)) }, patience, tick)
	edit(s, env, func(e *v1alpha1.Environment) { e.Spec.Namespaces = nil })
	require.Eventually(t, func() bool { return read(one) == nil && read(s.namespace) == nil }, patience, tick)
	edit(s, env, in())
	require.Eventually(t, func() bool { return apierrors.IsForbidden(read(one)) && apierrors.IsForbidden(read(two)) }, patience, tick)
	s.requireSteady()
}

func TestANamespaceThatComesLaterIsBound(t *testing.T) {
	s := newStage(t)
	early, late := s.p.Namespace(t), s.namespace+"-late"
	env := s.env("east", in(early, late))
	s.create(env, deployer("mock"))
	told := func(i *v1alpha1.Installation) string {
		return string(i.Spec.ImportDataMappings["watchNamespaces"].RawMessage)
	}
	installation := s.triggered("mock-east")
	assert.JSONEq(t, `["`+early+`"]`, told(installation), "a deployer that watches a namespace without rights is never ready")
	until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.GetReason(e, meta.ReadyCondition) == "NamespaceMissing"
	})
	s.requireSteady()
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late}})
	until(s, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: late, Name: "mock-east"}}, func(*rbacv1.RoleBinding) bool { return true })
	until(s, installation, func(i *v1alpha1.Installation) bool { return strings.Contains(told(i), late) })
}

func TestRightsThatSomebodyTookAreGivenBack(t *testing.T) {
	s := newStage(t)
	s.create(s.env("east"), deployer("mock"))
	s.triggered("mock-east")
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mock-east"}}
	require.NoError(t, s.client.Delete(s.ctx, binding))
	until(s, binding, func(*rbacv1.ClusterRoleBinding) bool { return true })
	edit(s, binding, func(b *rbacv1.ClusterRoleBinding) {
		b.Subjects = append(b.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "somebody"})
	})
	until(s, binding, func(b *rbacv1.ClusterRoleBinding) bool { return len(b.Subjects) == 1 })
}

func TestATokenIsReplacedWhenItIsDue(t *testing.T) {
	s := newStage(t, func(s *stage) { s.tokenLife = time.Hour })
	s.create(s.env("east"), deployer("mock"))
	s.triggered("mock-east")
	first := s.token("mock-east")
	target := &v1alpha1.Target{ObjectMeta: s.named("mock-east")}
	due := func() time.Time {
		at, err := time.Parse(time.RFC3339, target.Annotations["deployers.landscaper.gardener.cloud/renew-token-at"])
		require.NoError(t, err)
		return at
	}
	until(s, target, func(*v1alpha1.Target) bool { return true })
	assert.WithinDuration(t, time.Now().Add(30*time.Minute), due(), 2*time.Minute, "half of its life")
	s.requireSteady()

	edit(s, target, func(o *v1alpha1.Target) {
		o.Annotations["deployers.landscaper.gardener.cloud/renew-token-at"] = time.Now().Format(time.RFC3339)
	})
	before := target.ResourceVersion
	until(s, target, func(o *v1alpha1.Target) bool { return o.ResourceVersion != before && due().After(time.Now()) })
	assert.NotEqual(t, first, s.token("mock-east"))
	require.NoError(t, s.asDeployer("mock-east").List(s.ctx, &v1alpha1.DeployItemList{}))
	s.requireSteady()
	for len(s.events.Events) > 0 {
		assert.NotContains(t, <-s.events.Events, s.token("mock-east"))
	}
}

func TestAServiceAccountOfSomebodyElseIsNeverUsed(t *testing.T) {
	s := newStage(t)
	s.create(&corev1.ServiceAccount{ObjectMeta: s.named("mock-east")})
	registration := deployer("mock")
	s.create(s.env("east"), registration)
	until(s, registration, func(d *v1alpha1.DeployerRegistration) bool {
		return d.Status.LastError != nil && strings.Contains(d.Status.LastError.Message, "was not made by the deployer management")
	})
	assert.True(t, apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKey{Name: "mock-east"}, &rbacv1.ClusterRoleBinding{})))
	assert.True(t, apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: "mock-east"}, &v1alpha1.Target{})))
	s.requireSteady()
}

func TestNamesThatCannotBe(t *testing.T) {
	s := newStage(t)
	long := deployer(strings.Repeat("x", 54))
	s.create(s.env("east"), long)
	until(s, long, func(d *v1alpha1.DeployerRegistration) bool {
		return conditions.IsStalled(d) && d.Status.LastError != nil && strings.Contains(d.Status.LastError.Message, "has 59 characters, 58 at most")
	})
	s.create(deployer("a-b"), s.env("c"))
	s.triggered("a-b-c")
	second := deployer("a")
	s.create(second, s.env("b-c"))
	until(s, second, func(d *v1alpha1.DeployerRegistration) bool {
		return conditions.IsStalled(d) && strings.Contains(conditions.GetMessage(d, meta.ReadyCondition), `belongs to DeployerRegistration "a-b" in Environment "c"`)
	})
	s.requireSteady()
	require.NoError(t, s.client.Delete(s.ctx, deployer("a-b")))
	until(s, &v1alpha1.Installation{ObjectMeta: s.named("a-b-c")}, func(i *v1alpha1.Installation) bool {
		return i.Labels[v1alpha1.DeployerEnvironmentLabel] == "b-c"
	})
}

func TestAProcessThatDiesAfterAnyWriteLeavesNoOtherEnd(t *testing.T) {
	s := newStage(t)
	for n := 1; n <= 12; n++ {
		t.Logf("death after write %d", n)
		name := fmt.Sprintf("e%d", n)
		s.life.Arm(n, true)
		s.create(s.env(name), deployer("mock"))
		pairName := "mock-" + name
		require.Eventually(t, func() bool {
			i := &v1alpha1.Installation{ObjectMeta: s.named(pairName)}
			return s.life.IsDead() ||
				s.client.Get(s.ctx, client.ObjectKeyFromObject(i), i) == nil && i.Annotations[v1alpha1.ReconcileIfChangedAnnotation] == "true"
		}, patience, tick)
		s.stop()
		s.life.Arm(0, false)
		s.start()
		s.succeed(pairName)
		s.beat(name, 45)
		until(s, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: name}}, func(e *v1alpha1.Environment) bool { return conditions.IsReady(e) })
		require.NoError(t, s.asDeployer(pairName).List(s.ctx, &v1alpha1.DeployItemList{}))
		installations := &v1alpha1.InstallationList{}
		require.NoError(t, s.client.List(s.ctx, installations, client.InNamespace(s.namespace)))
		require.Len(t, installations.Items, 1)

		s.stop()
		s.life.Arm(n, true)
		s.start()
		require.NoError(t, s.client.Delete(s.ctx, deployer("mock")))
		require.NoError(t, s.client.Delete(s.ctx, s.env(name)))
		uninstalled := &v1alpha1.Installation{ObjectMeta: s.named(pairName)}
		require.Eventually(t, func() bool {
			if s.client.Get(s.ctx, client.ObjectKeyFromObject(uninstalled), uninstalled) == nil && !uninstalled.DeletionTimestamp.IsZero() {
				uninstalled.Finalizers = []string{v1alpha1.DeployerManagementFinalizer}
				_ = s.client.Update(s.ctx, uninstalled)
			}
			return s.life.IsDead() || apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKeyFromObject(uninstalled), uninstalled))
		}, patience, tick)
		s.stop()
		s.life.Arm(0, false)
		s.start()
		require.Eventually(t, func() bool {
			if s.client.Get(s.ctx, client.ObjectKeyFromObject(uninstalled), uninstalled) == nil && !uninstalled.DeletionTimestamp.IsZero() {
				uninstalled.Finalizers = []string{v1alpha1.DeployerManagementFinalizer}
				_ = s.client.Update(s.ctx, uninstalled)
			}
			return apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKeyFromObject(uninstalled), uninstalled))
		}, patience, tick)
		s.gone(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: pairName}})
		s.gone(deployer("mock"))
		env := until(s, s.env(name), func(e *v1alpha1.Environment) bool { return len(e.Finalizers) == 1 })
		edit(s, env, func(e *v1alpha1.Environment) { e.Finalizers = nil })
		s.gone(env)
	}
}
