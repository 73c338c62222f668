// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	if os.Getenv(ownerMarker) != "" {
		playOwner()
	}
	os.Exit(platform.Main(m, platform.Options{Node: true, Registry: true}))
}

// rig is what every test of a node uses.
type rig struct {
	*testing.T
	*platform.Platform
	ctx       context.Context
	namespace string
}

func newRig(t *testing.T) *rig {
	p := platform.Shared(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return &rig{T: t, Platform: p, ctx: ctx, namespace: p.Namespace(t)}
}

// shell pushes the image with a shell and returns its reference.
func (r *rig) shell() string {
	image, err := platform.ShellImage()
	require.NoError(r, err)
	reference, err := r.Registry.PushImage(r.ctx, "shell", "1", image)
	require.NoError(r, err)
	return reference
}

// pod returns a Pod that runs a command once.
func (r *rig) pod(name, image string, command ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: r.namespace},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers:    []corev1.Container{{Name: "main", Image: image, Command: command}},
		},
	}
}

// run creates a Pod and waits until it has ended well.
func (r *rig) run(pod *corev1.Pod) {
	require.NoError(r, r.Client().Create(r.ctx, pod))
	require.NoError(r, r.Await(r.ctx, pod, func() bool {
		return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	}))
	require.Equal(r, corev1.PodSucceeded, pod.Status.Phase, "%+v", pod.Status)
}

// prints waits until what a container has printed, read through the API server, is want: containerd writes it beside the end of the Pod.
func (r *rig) prints(pod *corev1.Pod, want string) {
	r.Helper()
	clients, err := kubernetes.NewForConfig(r.RestConfig)
	require.NoError(r, err)
	require.EventuallyWithT(r, func(c *assert.CollectT) {
		printed, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(r.ctx)
		require.NoError(c, err)
		assert.Equal(c, want, string(printed))
	}, 30*time.Second, 50*time.Millisecond)
}
