// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
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

func TestImageThatCannotBePulledFailsAtOnce(t *testing.T) {
	s := serve(t)
	item := s.create("image: " + brokenImage)
	s.fail(item, "ErrImagePull: failed to resolve reference "+brokenImage)
	assert.Equal(t, "ErrImagePull", item.Status.LastError.Reason)
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Pod"]) == 0 })
}

func TestUnschedulablePodFailsAtOnce(t *testing.T) {
	s := serve(t)
	item := s.create("image: " + nowhereImage)
	s.fail(item, "cannot be scheduled: 0/1 nodes are available: 1 Insufficient cpu.")
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Pod"]) == 0 })
}

func TestForceCleanupRunsNoContainer(t *testing.T) {
	s := serve(t)
	item := s.create(script(`[ "$OPERATION" = RECONCILE ]`))
	s.succeed(item)
	item.Annotations = map[string]string{layout.ForceCleanup: "true"}
	require.NoError(t, s.p.Client().Update(t.Context(), item))
	s.remove(item)
	assert.Empty(t, s.left())
}
