// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const web = `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: web, namespace: %[1]s},
spec: {replicas: 1, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: example.com/web}]}}}}`

// podOf waits for the Pod of a workload and gives it a status.
func (b *bench) podOf(set *unstructured.Unstructured, status string) *unstructured.Unstructured {
	b.t.Helper()
	waitFor(b.t, set, func(live *unstructured.Unstructured) bool { return number(live, 0, "status", "replicas") == 1 })
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

			_, progress, err := b.DefaultReadiness(t.Context(), []Subject{{Resource: referenceTo(set)}})

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
	b.Health = Health{byStatus: true}
	job := b.object(`{apiVersion: batch/v1, kind: Job, metadata: {name: work, namespace: %[1]s}, spec: {backoffLimit: 0, template: {spec: {
restartPolicy: Never, containers: [{name: main, image: example.com/main}]}}}}`)
	known := b.apply("", nil, manage(job)).Managed
	waitFor(t, job, func(live *unstructured.Unstructured) bool { return number(live, 0, "status", "active") == 1 })
	pods := &corev1.PodList{}
	require.NoError(t, platform.Shared(t).Client().List(t.Context(), pods, crclient.InNamespace(b.namespace)))
	pod := b.object("{apiVersion: v1, kind: Pod, metadata: {name: " + pods.Items[0].Name + ", namespace: %[1]s}}")
	b.change(pod, "{status: {phase: Failed, containerStatuses: [{name: main, image: x, imageID: x, ready: false, restartCount: 0, state: {terminated: {exitCode: 3, reason: Error}}}]}}", "status")
	waitFor(t, job, func(live *unstructured.Unstructured) bool { return hasCondition(live, "Failed", "True") })

	_, _, err := b.DefaultReadiness(t.Context(), []Subject{{Resource: known[0].Resource}})

	require.ErrorContains(t, err, "Job "+b.namespace+"/work has failed: Job Failed. failed: 1/1; Pod "+pod.GetName()+", container main: Error, exit code 3")
}

func TestTheLastLogLineIsBoundedAndMasked(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/api/v1/namespaces/shop/pods/web/log", r.URL.Path)
		assert.Equal(t, "1", r.URL.Query().Get("tailLines"))
		assert.Equal(t, "true", r.URL.Query().Get("previous"))
		_, _ = w.Write([]byte("cannot log in with s3cret-value\x1b[31m at\tdb " + strings.Repeat("x", 500)))
	}))
	defer server.Close()
	secret := parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {password: "+base64.StdEncoding.EncodeToString([]byte("s3cret-value"))+"}}")
	s := &Checks{Session: &Session{Cluster: &target.Cluster{Config: &rest.Config{Host: server.URL}}},
		Confidential: func() []string {
			return ConfidentialIn([]Desired{{Policy: managedresource.ManagePolicy, Object: secret}})
		}}
	pod := &corev1.Pod{}
	pod.Name, pod.Namespace = "web", "shop"

	line := s.lastLine(t.Context(), pod, "main", true)

	assert.True(t, strings.HasPrefix(line, "cannot log in with *** [31m at db xxx"), line)
	assert.LessOrEqual(t, len([]rune(line)), maxCause+1)
	s.Confidential = nil
	assert.Empty(t, s.lastLine(t.Context(), pod, "main", true), "nothing is read where nothing can be masked")
}

func TestALogLineThatIsCutInASecretDoesNotShowItsBeginning(t *testing.T) {
	secret := strings.Repeat("0123456789abcdef", 200)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit, err := strconv.Atoi(r.URL.Query().Get("limitBytes"))
		assert.NoError(t, err)
		_, _ = w.Write([]byte("cannot log in with " + secret)[:limit])
	}))
	defer server.Close()
	s := &Checks{Session: &Session{Cluster: &target.Cluster{Config: &rest.Config{Host: server.URL}}}, Confidential: func() []string { return []string{secret, "other"} }}

	line := s.lastLine(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}, "main", false)

	assert.Equal(t, "cannot log in with", line)
}
