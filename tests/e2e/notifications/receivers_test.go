// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notifications

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// hook makes a Receiver that wants signatures, for resources of our kinds, and returns what calls it and returns the status of the answer.
func (s *notified) hook(name string, resources ...notificationv1.CrossNamespaceObjectReference) (call func(key string) int) {
	s.t.Helper()
	all := []notificationv1.ReceiverResource{}
	for _, resource := range resources {
		resource.APIVersion = v1alpha1.GroupVersion.String()
		all = append(all, notificationv1.ReceiverResource{CrossNamespaceObjectReference: resource})
	}
	require.NoError(s.t, s.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named(name), Data: map[string][]byte{"token": []byte(secret)}}))
	made := &notificationv1.Receiver{ObjectMeta: s.Named(name), Spec: notificationv1.ReceiverSpec{
		Type: notificationv1.GenericHMACReceiver, SecretRef: &meta.LocalObjectReference{Name: name}, Resources: all,
	}}
	require.NoError(s.t, s.Client().Create(s.Ctx, made))
	require.NoError(s.t, s.AwaitReady(s.Ctx, made))
	call = func(key string) int {
		const body = `{"pushed": "something"}`
		mac := hmac.New(sha256.New, []byte(key))
		_, _ = mac.Write([]byte(body))
		request, err := http.NewRequestWithContext(s.Ctx, http.MethodPost, "http://"+receiversAddress+made.Status.WebhookPath, strings.NewReader(body))
		if !assert.NoError(s.t, err) {
			return 0
		}
		request.Header.Set("X-Signature", fmt.Sprintf("sha256=%x", mac.Sum(nil)))
		answer, err := http.DefaultClient.Do(request)
		if !assert.NoError(s.t, err) {
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
	// It knows the path a moment after the status says so.
	require.Eventually(s.t, func() bool { return call("wrong") != http.StatusNotFound }, 5*time.Minute, 10*time.Millisecond)
	return call
}

func named(kind, name string) notificationv1.CrossNamespaceObjectReference {
	return notificationv1.CrossNamespaceObjectReference{Kind: kind, Name: name}
}

// trivial makes an Installation that deploys nothing, and waits until it has succeeded.
func (s *notified) trivial(name string, labels map[string]string) {
	s.t.Helper()
	s.install(name, labels, object{"blueprint": inline(object{})})
	s.Succeeded(name)
}

func TestReceiversStartOneJobForEachCall(t *testing.T) {
	t.Parallel()
	s, stranger := newNotified(t), newNotified(t)
	team := map[string]string{"team": "shop"}
	s.trivial("named", nil)
	s.trivial("labelled", team)
	s.trivial("other", nil)
	stranger.trivial("named", nil)
	call := s.hook("push", named("Installation", "named"), notificationv1.CrossNamespaceObjectReference{Kind: "Installation", Name: "*", MatchLabels: team})
	foreign := named("Installation", "named")
	foreign.Namespace = s.Namespace
	reach := stranger.hook("reach", foreign)

	require.Equal(t, http.StatusBadRequest, call("guessed"))
	require.Equal(t, http.StatusInternalServerError, reach(secret), "references to other namespaces are not allowed")
	for count := range 2 {
		require.Equal(t, http.StatusOK, call(secret))
		s.RequireJobs(count+2, "named", "labelled")
		s.settled("named")
		s.settled("labelled")
	}
	s.RequireJobs(3, "named", "labelled")
	s.RequireJobs(1, "other")
	stranger.RequireJobs(1, "named")

	const calls = 5
	var group sync.WaitGroup
	for range calls {
		group.Go(func() { assert.Equal(t, http.StatusOK, call(secret)) })
	}
	group.Wait()
	s.settled("named")
	jobs := len(s.Witness.Jobs(s.Namespace, "named"))
	assert.Greater(t, jobs, 3, "the calls together start something")
	assert.LessOrEqual(t, jobs, 3+calls)
}

// settled waits until an Installation has answered the last call and is idle.
func (s *notified) settled(name string) {
	s.t.Helper()
	s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && inst.Status.Phase == v1alpha1.PhaseSucceeded && inst.Annotations[meta.ReconcileRequestAnnotation] != "" &&
			inst.Status.LastHandledReconcileAt == inst.Annotations[meta.ReconcileRequestAnnotation]
	})
}

func TestReceiversCheckTargetsAndSynchronise(t *testing.T) {
	t.Parallel()
	s := newNotified(t)
	require.NoError(t, s.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named("access"), Data: map[string][]byte{"kubeconfig": []byte(s.DeployerAccess())}}))
	reference := object{"name": "access", "key": "kubeconfig"}
	s.Put("Target", "cluster", object{"spec": object{
		"type": v1alpha1.KubernetesClusterTargetType, "secretRef": reference, "healthCheck": object{"interval": "24h"},
	}})
	s.Put("TargetSync", "clusters", object{"spec": object{"sourceNamespace": s.Namespace, "secretRef": reference, "secretNameExpression": "^cluster-"}})
	target, sync := &v1alpha1.Target{ObjectMeta: s.Named("cluster")}, &v1alpha1.TargetSync{ObjectMeta: s.Named("clusters")}
	require.NoError(t, s.AwaitReady(s.Ctx, target))
	require.NoError(t, s.AwaitReady(s.Ctx, sync))
	call := s.hook("push", named("Target", "cluster"), named("TargetSync", "clusters"))

	for range 2 {
		was := [2]string{target.Status.LastHandledReconcileAt, sync.Status.LastHandledReconcileAt}
		require.Equal(t, http.StatusOK, call(secret))
		require.NoError(t, s.Await(s.Ctx, target, func() bool { return target.Status.LastHandledReconcileAt != was[0] }))
		require.NoError(t, s.Await(s.Ctx, sync, func() bool { return sync.Status.LastHandledReconcileAt != was[1] }))
		assert.Equal(t, target.Annotations[meta.ReconcileRequestAnnotation], target.Status.LastHandledReconcileAt)
	}
}
