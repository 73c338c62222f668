// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// says returns why a process is not ready.
func (m *member) says() string {
	answer, err := http.Get("http://" + m.health + "/readyz/registered")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}

func TestANewTokenReplacesARevokedCredentialThatIsDue(t *testing.T) {
	s := newScene(t, "revoked")
	s.startController("--deployer-management")
	path, _ := s.bootstrap()
	m := s.start("revoked-agent", s.account, s.enrolArgs(path)...)
	m.awaitReady()
	first := s.credential().Data["token"]
	require.NoError(t, m.Stop(20*time.Second))
	due := s.credential()
	due.Annotations["landscaper.gardener.cloud/token-renew-at"] = time.Now().UTC().Format(time.RFC3339)
	require.NoError(t, s.fence.Client().Update(s.ctx, due))
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.home(), Name: "landscaper-agent-revoked"}}
	require.NoError(t, s.Client().Delete(s.ctx, account))
	old := s.bearer(string(first))
	require.Eventually(t, func() bool { // API servers remember for some seconds whom they have accepted
		return apierrors.IsUnauthorized(old.Get(s.ctx, client.ObjectKey{Name: s.environment}, &v1alpha1.Environment{}))
	}, patience, 100*time.Millisecond)
	s.apply(s.Cluster, "flux/agent-access")
	require.NoError(t, m.Restart())
	require.Eventually(t, func() bool { return s.hasEvent("AgentDisconnected", "flux landscaper agent bootstrap-token") }, patience, 50*time.Millisecond)
	s.bootstrap()
	m.awaitReady()
	assert.NotEqual(t, first, s.credential().Data["token"])
}

// noAccounts is a quota that lets nobody make a ServiceAccount behind the fence.
func (s *scene) noAccounts() *corev1.ResourceQuota {
	s.t.Helper()
	none := corev1.ResourceList{"count/serviceaccounts": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: s.environment}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	require.NoError(s.t, s.fence.Client().Create(s.ctx, quota))
	s.t.Cleanup(func() { _ = s.fence.Client().Delete(s.ctx, quota) })
	quota.Status.Hard, quota.Status.Used = none, none
	require.NoError(s.t, s.fence.Client().Status().Update(s.ctx, quota))
	return quota
}

func TestAnAgentThatIsRefusedSomethingSaysWhat(t *testing.T) {
	binding := func(s *scene) *rbacv1.ClusterRoleBinding {
		return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "landscaper:agent:" + s.environment}}
	}
	for name, c := range map[string]struct {
		refuse func(*scene) (allow func())
		reason string
		says   []string
	}{
		"quota": {func(s *scene) func() {
			quota := s.noAccounts()
			return func() { assert.NoError(t, s.fence.Client().Delete(s.ctx, quota)) }
		}, "HostAccessRefused", []string{"ServiceAccount ls-system/deployer-quota", "exceeded quota"}},
		"unseen": {func(s *scene) func() {
			require.NoError(t, s.Client().Delete(s.ctx, binding(s)))
			return func() { s.apply(s.Cluster, "flux/agent-access") }
		}, "AgentRefused", []string{"environments.landscaper.gardener.cloud", "forbidden", "flux/agent-access"}},
		"unwritten": {func(s *scene) func() {
			role := &rbacv1.ClusterRole{ObjectMeta: binding(s).ObjectMeta}
			require.NoError(t, s.Client().Get(s.ctx, client.ObjectKeyFromObject(role), role))
			role.Rules[0].Verbs = []string{"get", "list", "watch"}
			require.NoError(t, s.Client().Update(s.ctx, role))
			return func() { s.apply(s.Cluster, "flux/agent-access") }
		}, "AgentRefused", []string{`environments.landscaper.gardener.cloud "unwritten"`, "forbidden", "flux/agent-access"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, name)
			allow := c.refuse(s)
			m := s.start(name+"-agent", s.account, s.agentArgs()...)
			for _, part := range c.says {
				require.Eventually(t, func() bool { return strings.Contains(m.says(), part) }, patience, 50*time.Millisecond, "%s", part)
				require.Eventually(t, func() bool { return s.hasEvent(c.reason, part) }, patience, 50*time.Millisecond, "%s", part)
			}
			allow()
			m.awaitReady()
		})
	}
}

// What the agent is about to make when its Environment goes does not stay.
func TestAccessThatIsBeingMadeWhileTheEnvironmentEndsGoesToo(t *testing.T) {
	s := newScene(t, "crossing")
	var isArmed, isMade atomic.Bool
	reached, release := make(chan struct{}), make(chan struct{})
	s.hostFront = newFront(t, s.fence.Cluster, func(w http.ResponseWriter, r *http.Request, pass http.HandlerFunc) {
		isHeld := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/secrets") && isArmed.CompareAndSwap(true, false)
		if isHeld {
			close(reached)
			<-release
		}
		pass(w, r)
		if isHeld {
			isMade.Store(true)
		}
	})
	s.startAgent()
	isArmed.Store(true)
	secret := s.hostObjects()[3]
	require.NoError(t, s.fence.Client().Delete(s.ctx, secret))
	<-reached
	require.NoError(t, s.Client().Delete(s.ctx, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "crossing"}}))
	require.Eventually(t, func() bool { return s.hasEvent("EnvironmentEnded", "crossing") }, patience, 50*time.Millisecond)
	close(release)
	require.Eventually(t, isMade.Load, patience, 10*time.Millisecond)
	s.awaitHost(false)
}

func TestAnAgentThatStartsAfterTheEndOfItsEnvironmentIsReady(t *testing.T) {
	s := newScene(t, "over")
	m := s.startAgent()
	require.NoError(t, s.Client().Delete(s.ctx, &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "over"}}))
	s.awaitHost(false)
	require.NoError(t, m.Kill9())
	require.NoError(t, m.Restart())
	m.awaitReady()
	s.awaitHost(false)
	assert.Equal(t, []string{v1alpha1.AgentFinalizer}, s.registered().Finalizers)
}
