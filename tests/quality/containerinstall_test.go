// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

const podNamespace = "ls-containers"

// TestContainerDeployerRightsSuffice runs the container deployer under the name of its service account and takes one DeployItem through its
// life, with a Pod that the test ends: no request may be forbidden, and no right reaches beyond the namespace of the Pods.
func TestContainerDeployerRightsSuffice(t *testing.T) {
	binary, err := binaries.BuildLandscaper(t.Context())
	require.NoError(t, err)
	p := platform.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	for _, object := range installed(t) {
		if kind := object.GetKind(); kind == "Namespace" || kind == "ClusterRole" {
			require.NoError(t, p.Apply(ctx, object))
		}
	}
	var deployment *appsv1.Deployment
	objects := builtFrom(t, "flux/container-deployer")
	for _, object := range objects {
		require.NoError(t, p.Apply(ctx, object), "%s %s", object.GetKind(), object.GetName())
		if object.GetKind() == "Deployment" {
			deployment = &appsv1.Deployment{}
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, deployment, true))
		}
	}
	awaitRights(ctx, t, p, objects)
	user := serviceAccount(deployment)
	require.Eventually(t, func() bool {
		return allowed(ctx, t, p, user, authorizationv1.ResourceAttributes{Namespace: podNamespace, Verb: "create", Resource: "pods"})
	}, patience, 10*time.Millisecond)
	started := time.Now()
	own := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: deployment.Name}, Spec: deployment.Spec.Template.Spec}
	require.NoError(t, p.Client().Create(ctx, own), "the process reads the image of its own Pod")
	runAs(t, p, binary, deployment)

	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace(t), Name: "item"}}
	item.Spec.Type = v1alpha1.ContainerDeployItemType
	item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"image": "registry.invalid/shell:1"}`)}
	require.NoError(t, p.Client().Create(ctx, item))
	beginJob(ctx, t, p, item)
	pod := succeedPod(ctx, t, p)
	assert.Equal(t, own.Spec.Containers[0].Image, pod.Spec.InitContainers[0].Image)
	require.NoError(t, p.Await(ctx, item, func() bool { return item.Status.JobID == item.Status.JobIDFinished }))
	require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase, "%+v", item.Status.LastError)
	require.NoError(t, p.Client().Delete(ctx, item))
	beginJob(ctx, t, p, item)
	succeedPod(ctx, t, p)
	require.NoError(t, p.AwaitGone(ctx, item))

	requests, err := p.Requests(ctx, started)
	require.NoError(t, err)
	used := 0
	for _, request := range requests {
		if request.User == user {
			used++
			assert.NotEqual(t, http.StatusForbidden, request.Code, "%s %s%s %s/%s", request.Verb, request.Resource, request.Subresource, request.Namespace, request.Name)
		}
	}
	assert.Positive(t, used, "the deployer has used its rights")
	for _, resource := range []string{"pods", "secrets"} {
		create := authorizationv1.ResourceAttributes{Namespace: "default", Verb: "list", Resource: resource}
		assert.False(t, allowed(ctx, t, p, user, create), resource)
	}
}

func beginJob(ctx context.Context, t *testing.T, p *platform.Platform, item *v1alpha1.DeployItem) {
	t.Helper()
	require.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := p.Client().Get(ctx, client.ObjectKeyFromObject(item), item); err != nil {
			return err
		}
		now := metav1.Now()
		item.Status.JobID, item.Status.JobIDGenerationTime = uuid.NewString(), &now
		return p.Client().Status().Update(ctx, item)
	}))
}

// succeedPod does what a kubelet does with the next Pod, and returns it.
func succeedPod(ctx context.Context, t *testing.T, p *platform.Platform) *corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	require.Eventually(t, func() bool {
		require.NoError(t, p.Client().List(ctx, &pods, client.InNamespace(podNamespace)))
		return len(pods.Items) == 1 && pods.Items[0].Status.Phase == corev1.PodPending && pods.Items[0].DeletionTimestamp == nil
	}, patience, 20*time.Millisecond)
	pod := &pods.Items[0]
	pod.Status.Phase = corev1.PodSucceeded
	require.NoError(t, p.Client().Status().Update(ctx, pod))
	return pod
}
