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
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// runs scales a Deployment and says in its status, in the place of its controller, that all its replicas run.
func runs(ctx context.Context, t *testing.T, p *platform.Platform, deployment *appsv1.Deployment, replicas int32) {
	t.Helper()
	deployment.Spec.Replicas = &replicas
	if deployment.UID == "" {
		require.NoError(t, p.Client().Create(ctx, deployment))
	} else {
		require.NoError(t, p.Client().Update(ctx, deployment))
	}
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: replicas, UpdatedReplicas: replicas, ReadyReplicas: replicas, AvailableReplicas: replicas,
	}
	require.NoError(t, p.Client().Status().Update(ctx, deployment))
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

// healthChecked starts what a controller with a health check needs. The context ends with the patience of the test.
func healthChecked(t *testing.T) (context.Context, *platform.Platform) {
	t.Helper()
	_, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err, "outside the deadline: others may be building")
	ctx, cancel := context.WithTimeout(t.Context(), landscape.Patience)
	t.Cleanup(cancel)
	p := platform.New(t, platform.Options{LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme}})
	require.NoError(t, p.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-system"}}))
	return ctx, p
}

func TestC29AHealthCheckWithoutItsRightsIsRefused(t *testing.T) {
	t.Parallel()
	ctx, p := healthChecked(t)
	stranger, err := landscape.Start(ctx, p.Cluster, "stranger", nil, "controller", "--health-check=landscaper", "--health-check-deployments=landscaper")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, stranger.Stop(landscape.Patience)) })
	select {
	case <-stranger.Exited():
	case <-ctx.Done():
	}
	assert.Contains(t, stranger.LogTail(3), "--health-check: the Deployments of namespace ls-system cannot be listed; bind the ClusterRole landscaper:health-check there")
}

func TestC29TheHealthCheckFollowsTheDeployments(t *testing.T) {
	t.Parallel()
	ctx, p := healthChecked(t)
	controller, webhooks := ownDeployment("landscaper"), ownDeployment("landscaper-webhooks")
	runs(ctx, t, p, controller, 1)
	landscape.Run(ctx, t, p.Cluster, "controller", landscape.AllRights, "controller",
		"--health-check=landscaper", "--health-check-deployments=landscaper,landscaper-webhooks", "--health-check-interval=2s")

	check := &v1alpha1.LsHealthCheck{ObjectMeta: metav1.ObjectMeta{Namespace: "ls-system", Name: "landscaper"}}
	is := func(status v1alpha1.LsHealthCheckStatus, description string) {
		t.Helper()
		require.NoError(t, p.Await(ctx, check, func() bool { return check.Status == status }))
		assert.Equal(t, description, check.Description)
		assert.WithinDuration(t, time.Now(), check.LastUpdateTime.Time, landscape.Patience)
	}
	is(v1alpha1.LsHealthCheckStatusInit, "Deployment landscaper-webhooks does not exist")
	is(v1alpha1.LsHealthCheckStatusFailed, "Deployment landscaper-webhooks does not exist")
	runs(ctx, t, p, webhooks, 2)
	is(v1alpha1.LsHealthCheckStatusOk, "ok")

	runs(ctx, t, p, controller, 0)
	is(v1alpha1.LsHealthCheckStatusFailed, "Deployment landscaper is scaled to 0")
	runs(ctx, t, p, controller, 1)
	is(v1alpha1.LsHealthCheckStatusOk, "ok")

	last := check.LastUpdateTime
	require.NoError(t, p.Await(ctx, check, func() bool { return check.LastUpdateTime.After(last.Time) }), "it is renewed while nothing changes")
	assert.Equal(t, v1alpha1.LsHealthCheckStatusOk, check.Status)
}
