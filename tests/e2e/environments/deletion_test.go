// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestADeletedRegistrationWaitsForItsInstallations(t *testing.T) {
	s := newStage(t)
	one := s.p.Namespace(t)
	registration := deployer("mock")
	s.create(s.env("east"), s.env("west", in(one)), registration, deployer("other"))
	for _, name := range []string{"mock-east", "mock-west", "other-east"} {
		s.succeed(name)
	}
	require.NoError(t, s.client.Delete(s.ctx, registration))
	shown := until(s, registration, func(d *v1alpha1.DeployerRegistration) bool {
		return conditions.GetReason(d, meta.ReadyCondition) == "Deleting"
	})
	assert.Contains(t, conditions.GetMessage(shown, meta.ReadyCondition), "Installation "+s.namespace+"/mock-east and 1 more has to be gone first")
	assert.True(t, conditions.IsReconciling(shown))
	require.NoError(t, s.asDeployer("mock-east").List(s.ctx, &v1alpha1.DeployItemList{}), "it still has its rights")
	s.requireSteady()
	s.uninstall("mock-east")
	s.uninstall("mock-west")
	s.gone(registration)
	s.gone(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mock-east"}})
	s.gone(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: one, Name: "mock-west"}})
	s.gone(&corev1.ServiceAccount{ObjectMeta: s.named("mock-east")})
	s.gone(&v1alpha1.Target{ObjectMeta: s.named("mock-east")})
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: "other-east"}, &v1alpha1.Installation{}))
}

func TestADeletedEnvironmentWaitsForItsInstallationsAndItsAgent(t *testing.T) {
	s := newStage(t)
	env, registration := s.env("east"), deployer("mock")
	s.create(env, s.env("west"), registration)
	s.succeed("mock-east")
	s.succeed("mock-west")
	require.NoError(t, s.client.Delete(s.ctx, env))
	until(s, env, func(e *v1alpha1.Environment) bool {
		return strings.Contains(conditions.GetMessage(e, meta.ReadyCondition), "Installation "+s.namespace+"/mock-east has to be gone first")
	})
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKey{Namespace: s.namespace, Name: "east"}, &v1alpha1.Target{}), "the uninstall needs it")
	s.uninstall("mock-east")
	left := until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.GetReason(e, meta.ReadyCondition) == "AgentInstalled"
	})
	assert.Equal(t, []string{v1alpha1.AgentFinalizer}, left.Finalizers)
	assert.Contains(t, conditions.GetMessage(left, meta.ReadyCondition), "take the finalizer "+v1alpha1.AgentFinalizer+" off")
	s.requireSteady()
	edit(s, env, func(e *v1alpha1.Environment) { e.Finalizers = nil })
	s.gone(env)
	s.gone(&v1alpha1.Target{ObjectMeta: s.named("east")})
	until(s, registration, func(d *v1alpha1.DeployerRegistration) bool { return len(d.Status.Environments) == 1 })
}

func TestWhatAnEnvironmentThatWasForcedAwayLeavesIsDeleted(t *testing.T) {
	s := newStage(t)
	env := s.env("east")
	s.create(env, deployer("mock"))
	s.triggered("mock-east")
	s.stop()
	require.NoError(t, s.client.Delete(s.ctx, env))
	edit(s, env, func(e *v1alpha1.Environment) { e.Finalizers = nil })
	s.gone(env)
	s.start()
	s.gone(&v1alpha1.Installation{ObjectMeta: s.named("mock-east")})
	s.gone(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "mock-east"}})
}

func TestAnAgentThatGoesIsNoticedAndOneThatComesBackToo(t *testing.T) {
	s := newStage(t)
	s.create(s.env("east"), deployer("mock"))
	s.succeed("mock-east")
	s.beat("east", 5)
	s.beat("east", 5)
	s.connected("east", metav1.ConditionTrue)
	lost := s.connected("east", metav1.ConditionFalse)
	assert.Equal(t, "AgentUnreachable", conditions.GetReason(lost, v1alpha1.AgentConnectedCondition))
	require.NotNil(t, lost.Status.AgentLastSeen)
	assert.WithinDuration(t, time.Now(), lost.Status.AgentLastSeen.Time, patience, "by the clock of the controller")
	s.requireSteady()
	s.beat("east", 45)
	s.connected("east", metav1.ConditionTrue)
	var told []string
	for len(s.events.Events) > 0 {
		told = append(told, <-s.events.Events)
	}
	all, about := strings.Join(told, "\n"), "*v1alpha1.Installation "+s.namespace+"/mock-east: "
	assert.Contains(t, all, "Warning AgentUnreachable "+about+"Environment east: the agent does not renew its Lease")
	assert.Contains(t, all, "Normal LeaseRenewed "+about+"Environment east: the agent renews its Lease")
}

func TestAnAgentThatComesWithItsEnvironmentIsShownByItsFirstSignOfLife(t *testing.T) {
	s := newStage(t)
	s.beat("east", 45) // the only one
	s.create(s.env("east"))
	shown := s.connected("east", metav1.ConditionTrue)
	assert.Equal(t, "v1.2.3", shown.Status.AgentVersion)
	require.NotNil(t, shown.Status.AgentLastSeen)
	s.requireSteady()
}

func TestADeadlockIsNamedOnBothKinds(t *testing.T) {
	s := newStage(t)
	env, registration := s.env("east"), deployer("a", "example.com/a")
	s.create(env, registration)
	installation := s.triggered("a-east")
	s.create(&v1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "item", Labels: map[string]string{v1alpha1.ExecutionManagedByLabel: "a-east"}},
		Spec:       v1alpha1.DeployItemSpec{Type: "example.com/b"},
	})
	installation.Status.ExecutionReference = &v1alpha1.ObjectReference{Namespace: s.namespace, Name: "a-east"}
	require.NoError(t, s.client.Status().Update(s.ctx, installation))
	const path = "a needs type example.com/b, which no DeployerRegistration serves"
	until(s, env, func(e *v1alpha1.Environment) bool {
		return strings.Contains(conditions.GetMessage(e, meta.StalledCondition), path)
	})
	until(s, registration, func(d *v1alpha1.DeployerRegistration) bool {
		return strings.Contains(conditions.GetMessage(d, meta.StalledCondition), path)
	})
	s.create(deployer("b", "example.com/b"))
	until(s, env, func(e *v1alpha1.Environment) bool { return !conditions.IsStalled(e) })
	until(s, registration, func(d *v1alpha1.DeployerRegistration) bool { return !conditions.IsStalled(d) })
	s.requireSteady()
}
