// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
)

// An agent that goes and comes back within minutes is told of each time, although the messages are the same.
func TestEachReturnOfAnAgentIsAnotherEvent(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "fence"}}
	events := record.NewFakeRecorder(10)
	r := &Reconciler{
		Client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(env).WithStatusSubresource(env).Build(),
		Recorder: events,
	}
	deployer := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "fence", Name: "helm"}}
	var told []string
	for i, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionFalse} {
		s := &scope{env: env, persisted: env.Status.DeepCopy(), installations: []*v1alpha1.Installation{deployer}}
		env.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.AgentConnectedCondition, Status: status, Reason: "Any", Message: "the agent", LastTransitionTime: metav1.NewTime(now.Add(time.Duration(i) * time.Second)),
		}}
		require.NoError(t, r.record(t.Context(), s))
		if i > 0 { // the first state is no news
			told = append(told, <-events.Events)
		}
	}
	assert.Contains(t, told[0], "landscaper.gardener.cloud/token:False since 2026-01-02T03:04:06Z")
	assert.Contains(t, told[1], "landscaper.gardener.cloud/token:True since 2026-01-02T03:04:07Z")
	assert.NotEqual(t, told[0], told[2])
	assert.Empty(t, events.Events)
}

// Whoever waits for an Environment to be Ready would not notice that a deployer is still there.
func TestADeployerThatIsStillBeingUninstalledIsTold(t *testing.T) {
	going := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
		Namespace: "fence", Name: "helm", Labels: pair.Key{Registration: "helm", Environment: "fence"}.Labels(), DeletionTimestamp: &metav1.Time{Time: now},
	}}
	cases := map[string]struct {
		connected metav1.ConditionStatus
		reason    string
	}{
		"with its agent": {metav1.ConditionTrue, reasonDeployers},
		"without":        {metav1.ConditionFalse, reasonUnreachable},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			env := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "fence"}}
			env.Status.Conditions = []metav1.Condition{{Type: v1alpha1.AgentConnectedCondition, Status: c.connected, Reason: "Any", Message: "the agent"}}
			s := &scope{env: env, installations: []*v1alpha1.Installation{going}}
			s.observe(nil)
			assert.Equal(t, c.reason, conditions.GetReason(env, meta.ReadyCondition))
			assert.Contains(t, conditions.GetMessage(env, meta.ReadyCondition), "deployer helm is still being uninstalled: ")
		})
	}
}
