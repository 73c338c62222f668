// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tests give Pods addresses that API servers lead to. One that is not ready for a moment, on a busy machine, keeps its own.
func TestAPodOfProcessesKeepsItsAddress(t *testing.T) {
	p, ctx := Shared(t), t.Context()
	kube, err := kubernetes.NewForConfig(p.RestConfig)
	require.NoError(t, err)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace(t), Name: "relay"},
		Spec:       corev1.PodSpec{NodeName: "nobody", Containers: []corev1.Container{{Name: "a", Image: "b"}}},
	}
	pod.Spec.TerminationGracePeriodSeconds = new(int64) // nobody ends it
	require.NoError(t, p.Client().Create(ctx, pod))
	process := &podProcess{node: &ProcessNode{kube: kube, ctx: ctx}, pod: pod.DeepCopy()}
	process.report(true, 0)
	require.NoError(t, p.Client().Get(ctx, client.ObjectKeyFromObject(pod), pod))
	pod.Status.PodIP, pod.Status.PodIPs = "192.0.2.1", []corev1.PodIP{{IP: "192.0.2.1"}}
	require.NoError(t, p.Client().Status().Update(ctx, pod))

	for _, ready := range []bool{false, true} {
		process.report(ready, 1)
		require.NoError(t, p.Client().Get(ctx, client.ObjectKeyFromObject(pod), pod))
		assert.Equal(t, ready, pod.Status.ContainerStatuses[0].Ready)
		assert.EqualValues(t, 1, pod.Status.ContainerStatuses[0].RestartCount)
		assert.Equal(t, "192.0.2.1", pod.Status.PodIP)
		assert.Len(t, pod.Status.PodIPs, 1)
	}
}
