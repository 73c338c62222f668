// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	certutil "k8s.io/client-go/util/cert"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// hasEvent reports whether the agents have said something behind the fence.
func (s *scene) hasEvent(reason, part string) bool {
	s.t.Helper()
	events := &corev1.EventList{}
	require.NoError(s.t, s.fence.Client().List(s.ctx, events, client.InNamespace(system)))
	for _, event := range events.Items {
		if event.Reason == reason && strings.Contains(event.Message, part) && strings.HasPrefix(event.InvolvedObject.Name, s.environment) {
			return true
		}
	}
	return false
}

// hostObjects are what the agent makes behind the fence.
func (s *scene) hostObjects() []client.Object {
	at := metav1.ObjectMeta{Namespace: system, Name: "landscaper:agent:deployer:" + s.environment}
	return []client.Object{
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "deployer-" + s.environment}},
		&rbacv1.Role{ObjectMeta: at}, &rbacv1.RoleBinding{ObjectMeta: at},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: s.environment + "-target-access"}},
	}
}

// awaitHost waits until all of them are there, or none.
func (s *scene) awaitHost(there bool) {
	s.t.Helper()
	for _, object := range s.hostObjects() {
		require.Eventually(s.t, func() bool {
			err := s.fence.Client().Get(s.ctx, client.ObjectKeyFromObject(object), object)
			return there == (err == nil)
		}, patience, 50*time.Millisecond, "%T", object)
	}
}

func (s *scene) awaitEnvironment(done func(*v1alpha1.Environment) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: s.environment}}
	require.NoError(s.t, s.Await(ctx, env, func() bool { return done(env) }))
}

func (s *scene) patch(object client.Object, patch string) {
	s.t.Helper()
	require.NoError(s.t, s.Client().Patch(s.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func TestEnvironmentIsKept(t *testing.T) {
	s := newScene(t, "kept")
	s.startAgent()
	env := s.registered()
	assert.Equal(t, []string{v1alpha1.AgentFinalizer}, env.Finalizers)
	assert.Equal(t, system, env.Spec.Namespace)
	assert.Equal(t, "https://"+s.centre.Address, env.Spec.LandscaperClusterRestConfig.Host)
	assert.Equal(t, s.RestConfig.CAData, env.Spec.LandscaperClusterRestConfig.CAData)
	assert.Equal(t, map[string]string{v1alpha1.EnvironmentAnnotation: "kept", v1alpha1.DeployerOnlyAnnotation: "true"}, env.Spec.HostTarget.Annotations)
	assert.JSONEq(t, `{"kubeconfig": {"secretRef": {"name": "kept-target-access", "namespace": "ls-system", "key": "kubeconfig"}}}`,
		string(env.Spec.HostTarget.Configuration.RawMessage))

	t.Run("what others change of it is written anew, and what they add stays", func(t *testing.T) {
		s.patch(s.registered(), `{"spec": {"namespace": "other", "namespaces": ["shop"]}, "metadata": {"labels": {"a": "b"}}}`)
		s.awaitEnvironment(func(env *v1alpha1.Environment) bool { return env.Spec.Namespace == system })
		env := s.registered()
		assert.Equal(t, "b", env.Labels["a"])
		assert.Equal(t, []string{"shop"}, env.Spec.Namespaces)
	})
	t.Run("the Lease tells holder and version", func(t *testing.T) {
		lease := &coordinationv1.Lease{}
		require.NoError(t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: s.home(), Name: "landscaper-agent-kept"}, lease))
		assert.Equal(t, "kept-agent", *lease.Spec.HolderIdentity)
		assert.Equal(t, int32(45), *lease.Spec.LeaseDurationSeconds)
		assert.NotEmpty(t, lease.Annotations[v1alpha1.AgentVersionAnnotation])
	})
	t.Run("what the deployers need comes back", func(t *testing.T) {
		for _, object := range s.hostObjects() {
			require.NoError(t, s.fence.Client().Delete(s.ctx, object))
		}
		s.awaitHost(true)
	})
	t.Run("a token whose time has come is renewed", func(t *testing.T) {
		secret := s.hostObjects()[3].(*corev1.Secret)
		key := client.ObjectKeyFromObject(secret)
		require.NoError(t, s.fence.Client().Get(s.ctx, key, secret))
		before := string(secret.Data["kubeconfig"])
		secret.Annotations["landscaper.gardener.cloud/token-renew-at"] = time.Now().Add(-time.Second).Format(time.RFC3339)
		require.NoError(t, s.fence.Client().Update(s.ctx, secret))
		require.Eventually(t, func() bool {
			require.NoError(t, s.fence.Client().Get(s.ctx, key, secret))
			return string(secret.Data["kubeconfig"]) != before
		}, patience, 50*time.Millisecond)
	})
	t.Run("a second agent stands by", func(t *testing.T) {
		second := s.start("kept-second", s.account, s.agentArgs()...)
		require.Eventually(t, func() bool { return s.hasEvent("AgentStandsBy", `"kept-agent"`) }, patience, 50*time.Millisecond)
		assert.False(t, second.isReady())
	})
}

// Authorities are added before the first server shows a certificate of a new one.
func TestNewAuthoritiesOfTheFenceReachTheDeployers(t *testing.T) {
	s := newScene(t, "rotated")
	s.hostAuthorities = filepath.Join(s.dir, "host-ca.crt")
	s.startAgent()
	other, _, err := certutil.GenerateSelfSignedCertKey("next", nil, nil)
	require.NoError(t, err)
	both := append(slices.Clone(s.fence.RestConfig.CAData), other...)
	require.NoError(t, os.WriteFile(s.hostAuthorities, both, 0o600))
	secret := s.hostObjects()[3].(*corev1.Secret)
	given := func() []byte {
		require.NoError(t, s.fence.Client().Get(s.ctx, client.ObjectKeyFromObject(secret), secret))
		config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
		require.NoError(t, err)
		return config.CAData
	}
	require.Eventually(t, func() bool { return bytes.Equal(both, given()) }, patience, 50*time.Millisecond)
	written := secret.ResourceVersion
	assert.Never(t, func() bool {
		now := &corev1.Secret{}
		return s.fence.Client().Get(s.ctx, client.ObjectKeyFromObject(secret), now) == nil && now.ResourceVersion != written
	}, 20*time.Second, time.Second, "it is written once")
}

// Hooks that never end, more than the agent has workers, keep no other chart away.
func TestChartsThatWaitLeaveTheAgentToOthers(t *testing.T) {
	s := newScene(t, "patient")
	s.startController("--deployer-management")
	s.start("patient-agent", s.account, s.agentArgs("--graceful-shutdown-timeout=1s")...).awaitReady()
	s.managed()
	const waiting = 6
	for i := range waiting {
		name := fmt.Sprintf("waits-%d", i)
		s.install(s.home(), name, v1alpha1.HelmDeployItemType, chartItem(t, name, "a: b\n", map[string]string{"templates/hook.yaml": `apiVersion: batch/v1
kind: Job
metadata: {name: {{ .Release.Name }}, annotations: {helm.sh/hook: pre-install}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
`}), map[string]string{"cluster": s.environment})
	}
	require.Eventually(t, func() bool {
		jobs := &batchv1.JobList{}
		require.NoError(t, s.fence.Client().List(s.ctx, jobs, client.InNamespace(system)))
		return len(jobs.Items) == waiting
	}, patience, 50*time.Millisecond, "all are begun")
	s.deploy("quick", "done")
	s.succeeded(s.home(), "quick")
	assert.Equal(t, "done", s.configMap("quick")["text"])
}

func TestDeletedEnvironmentEndsTheAgentInOrder(t *testing.T) {
	s := newScene(t, "ended")
	agent := s.startAgent()
	env := s.registered()
	s.patch(env, `{"metadata": {"finalizers": ["`+v1alpha1.AgentFinalizer+`", "`+v1alpha1.DeployerManagementFinalizer+`"]}}`)
	require.NoError(t, s.Client().Delete(s.ctx, env))
	t.Run("while deployers are left it is kept", func(t *testing.T) {
		s.patch(s.registered(), `{"spec": {"namespace": "other"}}`)
		s.awaitEnvironment(func(env *v1alpha1.Environment) bool { return env.Spec.Namespace == system })
		s.awaitHost(true)
	})
	t.Run("then the access is deleted, and the finalizer stays", func(t *testing.T) {
		s.patch(s.registered(), `{"metadata": {"finalizers": ["`+v1alpha1.AgentFinalizer+`"]}}`)
		s.awaitHost(false)
		require.Eventually(t, func() bool { return s.hasEvent("EnvironmentEnded", v1alpha1.ReleaseAgentAnnotation) }, patience, 50*time.Millisecond)
		assert.Equal(t, []string{v1alpha1.AgentFinalizer}, s.registered().Finalizers)
	})
	t.Run("until an administrator lets the agent remove it", func(t *testing.T) {
		s.patch(s.registered(), `{"metadata": {"annotations": {"`+v1alpha1.ReleaseAgentAnnotation+`": "true"}}}`)
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		require.NoError(t, s.AwaitGone(ctx, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "ended"}}))
		require.Eventually(t, func() bool { return s.hasEvent("EnvironmentEnded", "restart it") }, patience, 50*time.Millisecond)
		assert.False(t, s.hasEvent("EnvironmentDeleted", ""), "it was planned")
		assert.True(t, agent.isReady())
	})
}

func TestAnEnvironmentThatIsForcedAwayIsNoPlannedEnd(t *testing.T) {
	s := newScene(t, "forced")
	s.startAgent()
	env := s.registered()
	s.patch(env, `{"metadata": {"finalizers": ["`+v1alpha1.AgentFinalizer+`", "`+v1alpha1.DeployerManagementFinalizer+`"]}}`)
	require.NoError(t, s.Client().Delete(s.ctx, env))
	s.patch(env, `{"metadata": {"finalizers": null}}`)
	require.Eventually(t, func() bool {
		return s.hasEvent("EnvironmentDeleted", "restart it") || s.hasEvent("EnvironmentEnded", "")
	}, patience, 50*time.Millisecond)
	assert.False(t, s.hasEvent("EnvironmentEnded", ""))
}
