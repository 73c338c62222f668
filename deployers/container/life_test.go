// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestItemFromCreateToDelete(t *testing.T) {
	s := serve(t)
	item := s.create(script(`[ "$OPERATION" = RECONCILE ]; cp "$IMPORTS_PATH" "$EXPORTS_PATH"`) + "importValues: {greeting: hello}\n")

	s.succeed(item)

	assert.JSONEq(t, `{"greeting": "hello"}`, s.exports(item))
	recorded := s.status(item)
	assert.Equal(t, containerv1alpha1.OperationReconcile, recorded.LastOperation)
	assert.Equal(t, s.podName(item), recorded.PodStatus.PodName)
	assert.Equal(t, item.Status.JobID, *recorded.PodStatus.LastSuccessfulJobID)
	assert.True(t, conditions.IsTrue(item, InitContainerCondition))
	assert.True(t, conditions.IsTrue(item, WaitContainerCondition))
	for _, status := range []containerv1alpha1.ContainerStatus{
		recorded.PodStatus.InitContainerStatus, recorded.PodStatus.ContainerStatus, recorded.PodStatus.WaitContainerStatus,
	} {
		require.NotNil(t, status.ExitCode)
		assert.Zero(t, *status.ExitCode)
	}
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Pod"]) == 0 && len(left["Secret"]) == 0 })

	s.configure(item, script(`[ "$OPERATION" = DELETE ]`))
	s.fail(item, "container main of Pod")
	s.remove(item)
	assert.Empty(t, s.left())
}

func TestStateGoesFromRunToRun(t *testing.T) {
	s := serve(t)
	item := s.create(script(`n=$(cat "$STATE_PATH/counter" 2>/dev/null || echo 0); echo $((n+1)) > "$STATE_PATH/counter"
		mkdir -p "$STATE_PATH/a/b"; echo "counter: $(cat $STATE_PATH/counter)" > "$EXPORTS_PATH"`))
	s.succeed(item)
	assert.JSONEq(t, `{"counter": 1}`, s.exports(item))
	s.begin(item)
	s.succeed(item)
	assert.JSONEq(t, `{"counter": 2}`, s.exports(item))
	s.begin(item)
	s.succeed(item)
	assert.JSONEq(t, `{"counter": 3}`, s.exports(item))
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) <= 2 })
	for _, name := range s.left()["Secret"] {
		assert.Contains(t, name, "state-")
	}
	s.remove(item)
	assert.Empty(t, s.left())
}

func TestFailureOfTheContainer(t *testing.T) {
	s := serve(t)
	item := s.create(script(`echo saved > "$STATE_PATH/kept"; echo "a: b" > "$EXPORTS_PATH"; echo no disk >&2; exit 3`))
	s.fail(item, "ended with exit code 3: no disk")
	assert.Nil(t, item.Status.ExportReference)
	s.configure(item, script(`echo "kept: $(cat $STATE_PATH/kept)" > $EXPORTS_PATH`))
	s.succeed(item)
	assert.JSONEq(t, `{"kept": "saved"}`, s.exports(item), "the state of a failed run is kept")
}

func TestForceCleanupRunsNoContainer(t *testing.T) {
	s := serve(t)
	item := s.create(script(`[ "$OPERATION" = RECONCILE ]`))
	s.succeed(item)
	item.Annotations = map[string]string{sidecar.ForceCleanup: "true"}
	require.NoError(t, s.p.Client().Update(t.Context(), item))
	s.remove(item)
	assert.Empty(t, s.left())
}

func TestForceCleanupEndsADeletionThatHangs(t *testing.T) {
	s := serve(t)
	item := s.create(script(`[ "$OPERATION" = RECONCILE ] || sleep 300`))
	s.succeed(item)
	require.NoError(t, s.p.Client().Delete(t.Context(), item))
	s.begin(item)
	s.awaitPod(item, corev1.PodRunning)
	base := item.DeepCopy()
	item.Annotations = map[string]string{sidecar.ForceCleanup: "true"}
	require.NoError(t, s.p.Client().Patch(t.Context(), item, client.MergeFrom(base)))
	require.NoError(t, s.p.AwaitGone(t.Context(), item))
	assert.Empty(t, s.left())
}

func TestAFailureIsWrittenOnceAndWaitingCostsNothing(t *testing.T) {
	s := serve(t)
	failed := s.create("image: " + brokenImage)
	s.fail(failed, "ErrImagePull: failed to resolve reference "+brokenImage)
	assert.Equal(t, "ErrImagePull", failed.Status.LastError.Reason)
	s.fail(s.add(s.item("unschedulable", "image: "+nowhereImage)), "cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu.")
	waiting := make([]*v1alpha1.DeployItem, 5)
	for i := range waiting {
		waiting[i] = s.add(s.item(fmt.Sprintf("waiting-%d", i), script("sleep 300")))
	}
	for _, item := range waiting {
		s.awaitPod(item, corev1.PodRunning)
		s.await(item, func() bool { return strings.Contains(conditions.GetMessage(item, "Ready"), "is running") })
	}
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Pod"]) == len(waiting) })
	ctx, cancel := context.WithTimeout(t.Context(), pace.Within(10*time.Second))
	defer cancel()
	since := time.Now()
	require.Eventually(t, func() bool { // until the last event of the last item is written
		begun := since
		since = time.Now()
		return len(s.requests(begun)) == 0
	}, pace.Within(10*time.Second), 3*time.Second)
	for _, namespace := range []string{s.namespace, s.host} {
		require.NoError(t, s.standstill().Await(ctx, namespace, 2*time.Second))
	}
	assert.Empty(t, s.requests(since), "%d waiting items cost no requests", len(waiting))
}

// requests returns what was asked of the API server about the namespaces of the items and of the Pods since a time, but for watches.
func (s *served) requests(since time.Time) []platform.Request {
	s.t.Helper()
	all, err := s.p.Requests(s.t.Context(), since)
	require.NoError(s.t, err)
	return slices.DeleteFunc(all, func(r platform.Request) bool {
		return r.Verb == "watch" || r.Namespace != s.host && r.Namespace != s.namespace
	})
}

var (
	standstillOnce sync.Once
	still          *landscape.Standstill
	stillErr       error
)

func (s *served) standstill() *landscape.Standstill {
	s.t.Helper()
	standstillOnce.Do(func() { still, stillErr = landscape.WatchStandstill(context.Background(), s.p.Cluster) })
	require.NoError(s.t, stillErr)
	return still
}
