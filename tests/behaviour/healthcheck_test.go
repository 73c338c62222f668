// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// runs scales a Deployment and says in its status, in the place of its controller, that all its replicas run.
func (c *emptyCluster) runs(t *testing.T, deployment *appsv1.Deployment, replicas int32) {
	t.Helper()
	deployment.Spec.Replicas = &replicas
	if deployment.UID == "" {
		require.NoError(t, c.Client().Create(c.ctx, deployment))
	} else {
		require.NoError(t, c.Client().Update(c.ctx, deployment))
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
	}
	require.NoError(t, c.Client().Status().Update(c.ctx, deployment))
}

// ownDeployment is a Deployment as those of landscaper are.
func ownDeployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ls-system", Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "landscaper", Image: "landscaper"}}},
			},
		},
	}
}

func TestC29AHealthCheckWithoutItsRightsIsRefused(t *testing.T) {
	t.Parallel()
	c := newEmptyCluster(t)
	stranger, err := landscape.Start(c.ctx, c.Cluster, "stranger", nil, "controller", "--health-check=landscaper", "--health-check-deployments=landscaper")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stranger.Stop(landscape.Patience)) })
	select {
	case <-stranger.Exited():
	case <-c.ctx.Done():
	}
	assert.Contains(t, stranger.LogTail(3), "--health-check: the Deployments of namespace ls-system cannot be listed; bind the ClusterRole landscaper:health-check there")
}

func TestC29TheHealthCheckFollowsTheDeployments(t *testing.T) {
	t.Parallel()
	c := newEmptyCluster(t)
	controller, webhooks := ownDeployment("landscaper"), ownDeployment("landscaper-webhooks")
	t.Cleanup(func() {
		for _, all := range []client.Object{&appsv1.Deployment{}, &v1alpha1.LsHealthCheck{}} {
			require.NoError(t, c.Client().DeleteAllOf(context.Background(), all, client.InNamespace("ls-system")))
		}
	})
	c.runs(t, controller, 1)
	landscape.Run(c.ctx, t, c.Cluster, "controller", landscape.AllRights, "controller",
		"--health-check=landscaper", "--health-check-deployments=landscaper,landscaper-webhooks", "--health-check-interval=2s")

	check := &v1alpha1.LsHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: "ls-system", Name: "landscaper"}}
	is := func(status v1alpha1.LsHealthCheckStatus, description string) {
		t.Helper()
		require.NoError(t, c.Await(c.ctx, check, func() bool { return check.Status == status }))
		assert.Equal(t, description, check.Description)
		assert.WithinDuration(t, time.Now(), check.LastUpdateTime.Time, landscape.Patience)
	}
	is(v1alpha1.LsHealthCheckStatusInit, "Deployment landscaper-webhooks does not exist")
	is(v1alpha1.LsHealthCheckStatusFailed, "Deployment landscaper-webhooks does not exist")
	c.runs(t, webhooks, 2)
	is(v1alpha1.LsHealthCheckStatusOk, "ok")

	c.runs(t, controller, 0)
	is(v1alpha1.LsHealthCheckStatusFailed, "Deployment landscaper is scaled to 0")
	c.runs(t, controller, 1)
	is(v1alpha1.LsHealthCheckStatusOk, "ok")

	last := check.LastUpdateTime
	require.NoError(t, c.Await(c.ctx, check, func() bool { return check.LastUpdateTime.After(last.Time) }), "it is renewed while nothing changes")
	assert.Equal(t, v1alpha1.LsHealthCheckStatusOk, check.Status)
}
