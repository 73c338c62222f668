// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package steady

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/schema"
)

// answersToNonsense is how many writes of ours one write of a stranger may cause on the average: item, Execution and Installation may each
// show it, and the next one.
const answersToNonsense = 4

// stranger is a deployer of others, with the one item that it has.
type stranger struct {
	*scene
	item string
	// accepted and refused count what it has written.
	accepted, refused int
}

// hire makes a root with an item of a stranger, and begins its job.
func (s *scene) hire() *stranger {
	s.T.Helper()
	s.Put("Installation", "root", object{"spec": object{"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": landscape.Blueprint(object{
		"deployExecutions": landscape.GoTemplate("deployItems: [{name: strange, type: example.com/strange, timeout: 1h, config: {a: b}}]"),
	})}}}}})
	s.ask()
	one := &stranger{scene: s}
	require.Eventually(s.T, func() bool {
		items := &v1alpha1.DeployItemList{}
		require.NoError(s.T, s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace)))
		if len(items.Items) == 1 && items.Items[0].Status.JobID != "" {
			one.item = items.Items[0].Name
		}
		return one.item != ""
	}, landscape.Patience, landscape.Tick, "no item is asked for")
	return one
}

// live reads the item as it is.
func (s *stranger) live() *unstructured.Unstructured {
	s.T.Helper()
	item := &unstructured.Unstructured{}
	item.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeployItem"))
	require.NoError(s.T, s.Client().Get(s.Ctx, types.NamespacedName{Namespace: s.Namespace, Name: s.item}, item))
	return item
}

// write patches the status of the item and reports whether the API server takes that.
func (s *stranger) write(content any) bool {
	s.T.Helper()
	patch, err := json.Marshal(content)
	require.NoError(s.T, err)
	item := &unstructured.Unstructured{}
	item.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeployItem"))
	item.SetNamespace(s.Namespace)
	item.SetName(s.item)
	err = s.Client().Status().Patch(s.Ctx, item, client.RawPatch(types.MergePatchType, patch))
	if err == nil {
		s.accepted++
	} else {
		s.refused++
	}
	return err == nil
}

// finish ends the job of the item well, in a status that has nothing else.
func (s *stranger) finish() {
	s.T.Helper()
	require.Eventually(s.T, func() bool {
		item := s.live()
		last, _, _ := unstructured.NestedMap(item.Object, "status")
		status := object{}
		for name := range last {
			status[name] = nil
		}
		job, _, _ := unstructured.NestedString(item.Object, "status", "jobID")
		maps.Copy(status, object{
			"jobID": job, "jobIDFinished": job, "phase": "Succeeded", "observedGeneration": item.GetGeneration(),
			"jobIDGenerationTime": metav1.Now(), "lastReconcileTime": metav1.Now(),
		})
		s.write(object{"status": status})
		root := s.Installation("root")
		require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(root), root))
		if root.Status.IsIdle() && root.Status.Phase.IsFailed() {
			s.ask()
		}
		return root.Status.IsIdle() && root.Status.Phase == v1alpha1.PhaseSucceeded
	}, landscape.Patience, time.Second, "the root does not succeed")
}

// TestE05NonsenseInAStatusHurtsNobody lets a stranger write into every field of the status of its item what the API server lets through.
func TestE05NonsenseInAStatusHurtsNobody(t *testing.T) {
	definitions, err := schema.Definitions("../../../config/crd/bases")
	require.NoError(t, err)
	neighbour := newScene(t)
	neighbour.Target("cluster")
	neighbour.install("first")
	s := (&scene{Scene: landscape.NewScene(t)}).hire()
	pids, begun := s.pids(), time.Now()
	item := definitions["DeployItem"]
	status := item.Properties["status"]
	status.Walk("status", func(v any) any { return object{"status": v} }, func(path string, put func(any) any, values []any) {
		if path == "status" {
			return
		}
		for _, value := range values {
			if s.write(put(value)) {
				s.write(put(nil))
			}
		}
	})
	t.Logf("%d writes, %d more refused, in %s", s.accepted, s.refused, time.Since(begun))

	assert.Greater(t, s.accepted, 100)
	s.RequireStandstill()
	assert.Less(t, len(s.Writes(s.Ctx, t, s.Namespace, begun)), answersToNonsense*s.accepted, "answers to %d writes", s.accepted)
	assert.Equal(t, pids, s.pids(), "no process has ended")
	neighbour.healthy("first")
	neighbour.install("second")
	neighbour.healthy("second")
	s.finish()
	s.RequireStandstill()
}

// fail ends the job of the item badly and waits until the root has failed for that.
func (s *stranger) fail(shown string) {
	s.T.Helper()
	job, _, _ := unstructured.NestedString(s.live().Object, "status", "jobID")
	require.True(s.T, s.write(object{"status": object{"phase": "Failed", "jobIDFinished": job}}))
	s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && inst.Status.JobID == job && inst.Status.Phase == v1alpha1.PhaseFailed
	})
	require.NotNil(s.T, s.Workers()[0].LastError, shown)
	s.ask()
	require.Eventually(s.T, func() bool {
		next, _, _ := unstructured.NestedString(s.live().Object, "status", "jobID")
		return next != job
	}, landscape.Patience, landscape.Tick, "%s: there is no other job", shown)
}

// TestE05NonsenseInAnErrorEndsTheJob lets a stranger fail with an error that says in some field what only its own schema allows.
func TestE05NonsenseInAnErrorEndsTheJob(t *testing.T) {
	t.Parallel()
	definitions, err := schema.Definitions("../../../config/crd/bases")
	require.NoError(t, err)
	s := (&scene{Scene: landscape.NewScene(t)}).hire()
	lastError := definitions["DeployItem"].Properties["status"].Properties["lastError"]
	put := func(v any) any { return object{"status": object{"lastError": v}} }
	lastError.Walk("lastError", put, func(path string, put func(any) any, values []any) {
		for _, value := range values {
			s.write(object{"status": object{"lastError": nil}})
			s.write(object{"status": object{"lastError": object{
				"operation": "Deploy", "reason": "Strange", "message": "no", "lastTransitionTime": metav1.Now(), "lastUpdateTime": metav1.Now(),
			}}})
			if s.write(put(value)) {
				s.fail(fmt.Sprintf("%s: %.60v", path, value))
			}
		}
	})
	assert.Greater(t, s.accepted, 20)
	s.finish()
	s.RequireStandstill()
}

// pids are the running processes of ours.
func (s *scene) pids() map[string]int {
	pids := map[string]int{}
	for name, process := range s.Processes {
		if process.Running() {
			pids[name] = process.PID()
		}
	}
	return pids
}
