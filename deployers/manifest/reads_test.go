// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

const (
	// waitingPods is more than what is watched object by object.
	waitingPods = 12
	// readsOfEach is enough to read a Pod when its watch opens, when it changes, and twice more.
	readsOfEach = 4
)

// reads returns how often the deployer has read each Pod on the target since a time.
func (s *served) reads(since time.Time) map[string]int {
	s.t.Helper()
	requests, err := s.p.Requests(s.t.Context(), since)
	require.NoError(s.t, err)
	reads := map[string]int{}
	for _, r := range requests {
		if r.User == s.namespace && r.Resource == "pods" && r.Verb == "get" {
			reads[r.Name]++
		}
	}
	return reads
}

// makeReady does what a kubelet does.
func (s *served) makeReady(name string) {
	s.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	patch := `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`
	require.NoError(s.t, s.p.Client().Status().Patch(s.t.Context(), pod, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

func TestD18ChangeOfAnObjectReadsNoOther(t *testing.T) {
	s := serve(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "default"}}
	s.await(account, func() bool { return account.UID != "" })
	config, begun := header+"manifests:\n", time.Now()
	for i := range waitingPods {
		config += fmt.Sprintf("- {policy: manage, manifest: {apiVersion: v1, kind: Pod, metadata: {name: pod-%d, namespace: NS}, "+
			"spec: {containers: [{name: main, image: none}]}}}\n", i)
	}
	item := s.create(config)
	s.await(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
	for i := range waitingPods {
		name := fmt.Sprintf("pod-%d", i)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
		s.await(pod, func() bool { return pod.UID != "" })
		before := s.reads(begun)[name]
		s.makeReady(name)
		require.Eventually(t, func() bool { return s.reads(begun)[name] > before }, pace.Within(10*time.Second), 20*time.Millisecond, "nobody reads %s", name)
	}
	s.finish(item)

	for name, times := range s.reads(begun) {
		assert.LessOrEqual(t, times, readsOfEach, "reads of %s", name)
	}
}
