// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"k8s.io/utils/ptr"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const web = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: %[1]s},
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: example.com/web}]}}}}`

// counts returns a number of the status.
func counts(live *unstructured.Unstructured, field string) int64 {
	value, _, _ := unstructured.NestedInt64(live.Object, "status", field)
	return value
}

// podOf waits for the Pod of a workload and gives it a status.
func (b *bench) podOf(set *unstructured.Unstructured, status string) *unstructured.Unstructured {
	b.t.Helper()
	waitFor(b.t, set, func(live *unstructured.Unstructured) bool { return counts(live, "replicas") == 1 })
	pods := &corev1.PodList{}
	require.NoError(b.t, platform.Shared(b.t).Client().List(b.t.Context(), pods, crclient.InNamespace(b.namespace)))
	require.Len(b.t, pods.Items, 1)
	pod := b.object("{apiVersion: v1, kind: Pod, metadata: {name: " + pods.Items[0].Name + ", namespace: %[1]s}}")
	return b.change(pod, "{status: "+status+"}", "status")
}

func TestWorkloadsTellWhatTheirPodsLack(t *testing.T) {
	for name, test := range map[string]struct{ status, why string }{
		"image":         {"{containerStatuses: [{name: main, image: x, imageID: x, ready: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: no such image}}}]}", ", container main: ImagePullBackOff: no such image"},
		"configuration": {"{containerStatuses: [{name: main, image: x, imageID: x, ready: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: secret \"a\" not found}}}]}", `, container main: CreateContainerConfigError: secret "a" not found`},
		"crash": {"{containerStatuses: [{name: main, image: x, imageID: x, ready: false, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}",
			", container main: CrashLoopBackOff after OOMKilled, exit code 137"},
		"unschedulable": {"{conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes are available}]}", ": Unschedulable: 0/3 nodes are available"},
		"starting":      {"{containerStatuses: [{name: main, image: x, imageID: x, ready: false, restartCount: 0, state: {waiting: {reason: ContainerCreating}}}]}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.awaitAccount()
			set := b.object(web)
			b.apply("", nil, manage(set))
			pod := b.podOf(set, test.status)

			_, progress, err := b.DefaultReadiness(t.Context(), []resources.Subject{{Resource: resources.ReferenceTo(set)}})

			require.NoError(t, err)
			expect := "ReplicaSet " + b.namespace + "/web is not ready: status.readyReplicas is 0, wanted at least 1"
			if test.why != "" {
				expect += "; Pod " + pod.GetName() + test.why
			}
			assert.Equal(t, expect, progress.Waiting())
			require.Len(t, progress.Watch, 2, "Pod and workload")
			assert.Equal(t, pod.GetName(), progress.Watch[0].Name)
		})
	}
}

func TestAFailedJobTellsWhatItsPodLacks(t *testing.T) {
	b := newBench(t)
	b.awaitAccount()
	var err error
	b.Health, err = resources.NewHealth(&managedresource.ReadinessCheckConfiguration{KStatus: ptr.To(true)}, "")
	require.NoError(t, err)
	job := b.object(`{apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: %[1]s}, spec: {backoffLimit: 0, template: {spec: {
restartPolicy: Never, containers: [{name: main, image: example.com/main}]}}}}`)
	known := b.apply("", nil, manage(job)).Managed
	waitFor(t, job, func(live *unstructured.Unstructured) bool { return counts(live, "active") == 1 })
	pods := &corev1.PodList{}
	require.NoError(t, platform.Shared(t).Client().List(t.Context(), pods, crclient.InNamespace(b.namespace)))
	pod := b.object("{apiVersion: v1, kind: Pod, metadata: {name: " + pods.Items[0].Name + ", namespace: %[1]s}}")
	b.change(pod, "{status: {phase: Failed, containerStatuses: [{name: main, image: x, imageID: x, ready: false, restartCount: 0, state: {terminated: {exitCode: 3, reason: Error}}}]}}", "status")
	waitFor(t, job, func(live *unstructured.Unstructured) bool { return resources.HasCondition(live, "Failed", "True") })

	_, _, err = b.DefaultReadiness(t.Context(), []resources.Subject{{Resource: known[0].Resource}})

	require.ErrorContains(t, err, "Job "+b.namespace+"/work has failed: Job Failed. failed: 1/1; Pod "+pod.GetName()+", container main: Error, exit code 3")
}
