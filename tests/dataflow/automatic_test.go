// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// mocked is the spec of an Installation whose only item ends in a phase, with spec.automaticReconcile.
func mocked(phase string, automatic object) object {
	item := strings.Replace(mockItem("item", "{}"), "export: {}", "phase: "+phase, 1)
	return object{
		"blueprint":          inline(object{"deployExecutions": goTemplate("deployItems:\n" + item)}),
		"automaticReconcile": automatic,
	}
}

// starts returns when each job of an Installation began, in order.
func (s *scene) starts(name string) []time.Time {
	var times []time.Time
	last := ""
	for _, state := range s.Witness.States(s.Namespace) {
		if state.Name == name && state.Status.JobID != last {
			last = state.Status.JobID
			times = append(times, state.Status.TransitionTimes.TriggerTime.Time)
		}
	}
	return times
}

// awaitJobs waits until an Installation has had as many jobs.
func (s *scene) awaitJobs(name string, count int) {
	s.T.Helper()
	require.Eventually(s.T, func() bool { return len(s.Witness.Jobs(s.Namespace, name)) >= count }, landscapePatience, tick)
}

func TestC01SucceededReconcileByInterval(t *testing.T) {
	s := newScene(t)
	s.NeverStands()
	s.installWith("never", mocked("Succeeded", object{"succeededReconcile": object{"interval": "1s"}}), nil)
	s.AwaitState("never", func(inst *v1alpha1.Installation) bool { return len(inst.Status.Conditions) > 0 })
	s.install("root", mocked("Succeeded", object{"succeededReconcile": object{"interval": "4s"}}))
	first := s.succeeded("root")
	ended := time.Now()
	s.awaitJobs("root", 2)
	second := s.Ran("root", first.Status.JobID, v1alpha1.PhaseSucceeded)
	for _, write := range s.Writes(s.Ctx, t, s.Namespace, ended) {
		isEvent := strings.HasPrefix(write.Resource, "events") // they are sent behind the scenes, as late as it gets
		assert.True(t, isEvent || !write.Time.Before(second.Status.TransitionTimes.TriggerTime.Time), "in between %s of %s is written", write.Resource, write.Name)
	}
	s.awaitJobs("root", 3)
	for i, start := range s.starts("root")[1:] {
		assert.GreaterOrEqual(t, start.Sub(s.starts("root")[i]), 3*time.Second, "never early; times have whole seconds")
	}
	s.RequireJobs(0, "never")
	counter := s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() }).Status.AutomaticReconcileStatus
	require.NotNil(t, counter)
	assert.False(t, counter.OnFailed)
}

func TestC01SucceededReconcileByCron(t *testing.T) {
	s := newScene(t)
	s.NeverStands()
	s.install("root", mocked("Succeeded", object{"succeededReconcile": object{"cronSpec": "@every 2s"}}))
	s.awaitJobs("root", 3)
}

func TestC01AnUnreadableScheduleIsRefused(t *testing.T) {
	s := newScene(t)
	s.install("root", mocked("Succeeded", object{"succeededReconcile": object{"cronSpec": "whenever"}}))
	assert.Contains(t, s.failed("root").Message, "cronSpec")
}

func TestC02FailedReconcileUpToANumber(t *testing.T) {
	s := newScene(t)
	s.install("root", mocked("Failed", object{"failedReconcile": object{"interval": "5s", "numberOfReconciles": 2}}))
	s.awaitJobs("root", 3)
	final := s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && conditions.IsStalled(inst)
	})
	require.NotNil(t, final.Status.AutomaticReconcileStatus)
	assert.EqualValues(t, 2, final.Status.AutomaticReconcileStatus.NumberOfReconciles)
	starts := s.starts("root")
	require.Len(t, starts, 3)
	assert.GreaterOrEqual(t, starts[2].Sub(starts[1]), 4*time.Second, "the second after the interval")
	for _, state := range s.Witness.States(s.Namespace) {
		if state.Status.Phase == v1alpha1.PhaseFailed && state.Status.IsIdle() && !conditions.IsStalled(state) {
			assert.Equal(t, meta.ProgressingWithRetryReason, conditions.GetReason(state, meta.ReconcilingCondition))
		}
	}

	s.reconcile("root")
	s.awaitJobs("root", 6)
	s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() && conditions.IsStalled(inst) })
	s.RequireJobs(6, "root")

	s.install("root", mocked("Succeeded", object{"failedReconcile": object{"interval": "2s", "numberOfReconciles": 2}}))
	assert.Nil(t, s.succeeded("root").Status.AutomaticReconcileStatus, "success forgets the count")
}

func TestC02RetryReasonKeepsTheCount(t *testing.T) {
	s := newScene(t)
	s.install("root", mocked("Failed", object{"failedReconcile": object{"interval": "1h", "numberOfReconciles": 2}}))
	s.awaitJobs("root", 2) // the first retry comes at once
	s.Annotate(s.Installation("root"), v1alpha1.ReconcileReasonAnnotation, v1alpha1.ReconcileReasonRetry)
	s.reconcile("root")
	s.awaitJobs("root", 3)
	final := s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() && conditions.IsStalled(inst) })
	assert.EqualValues(t, 2, final.Status.AutomaticReconcileStatus.NumberOfReconciles)
	assert.Empty(t, final.Annotations[v1alpha1.ReconcileReasonAnnotation])
}

func TestC02NothingIsRetriedWithNumberZero(t *testing.T) {
	s := newScene(t)
	s.install("root", mocked("Failed", object{"failedReconcile": object{"interval": "1s", "numberOfReconciles": 0}}))
	s.failed("root")
	assert.True(t, conditions.IsStalled(s.failedInstallation("root")))
}

func (s *scene) failedInstallation(name string) *v1alpha1.Installation {
	s.T.Helper()
	return s.Ended(name, v1alpha1.PhaseFailed)
}

func TestC03ReconcileIfChanged(t *testing.T) {
	s := newScene(t)
	s.data("in", 1)
	s.data("more", 1)
	s.install("root", echo(dataImports("in"), refs("in")))
	s.succeeded("root")
	s.install("root", echo(dataImports("in", "more"), refs("in", "more")))
	inst := s.succeeded("root")
	s.RequireJobs(2, "root")
	assert.Equal(t, "true", inst.Annotations[v1alpha1.ReconcileIfChangedAnnotation])
	assert.JSONEq(t, `{"in":1,"more":1}`, s.value("out"))
}

func TestReconcileIfImportsChanged(t *testing.T) {
	s := newScene(t)
	s.data("data", "1")
	s.secret("secret", map[string]string{"key": "1"})
	s.configMap("config", map[string]string{"key": "1"})
	s.Put("Target", "target", object{"spec": object{"type": clusterType, "config": object{"at": "1"}}})
	spec := echo(append(dataImports("data", "secret", "config"), object{"name": "target", "targetType": clusterType}), list{
		object{"name": "data", "dataRef": "data"}, object{"name": "secret", "secretRef": object{"name": "secret", "key": "key"}},
		object{"name": "config", "configMapRef": object{"name": "config", "key": "key"}},
	})
	spec["imports"].(object)["targets"] = list{object{"name": "target", "target": "target"}}
	spec["blueprint"].(object)["inline"].(object)["filesystem"] = object{"blueprint.yaml": document(object{
		"imports": append(dataImports("data", "secret", "config"), object{"name": "target", "targetType": clusterType}), "exports": dataExports("out"),
		"exportExecutions": goTemplate("exports: {out: '{{ .imports.data }}{{ .imports.secret }}{{ .imports.config }}{{ .imports.target.spec.config.at }}'}"),
	})}
	s.installWith("root", spec, object{v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: "true"})
	s.installWith("plain", object{"blueprint": inline(object{"imports": dataImports("data")}), "imports": object{"data": refs("data")}},
		object{v1alpha1.ReconcileIfChangedAnnotation: "true"})
	s.succeeded("root")
	s.succeeded("plain")
	for jobs, change := range []struct {
		apply func()
		want  string
	}{
		{func() { s.data("data", "2") }, `"2111"`},
		{func() { s.secret("secret", map[string]string{"key": "2"}) }, `"2211"`},
		{func() { s.configMap("config", map[string]string{"key": "2"}) }, `"2221"`},
		{func() {
			s.Put("Target", "target", object{"spec": object{"type": clusterType, "config": object{"at": "2"}}})
		}, `"2222"`},
	} {
		change.apply()
		s.awaitJobs("root", jobs+2)
		s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() && s.value("out") == change.want })
		s.RequireJobs(jobs+2, "root")
	}
	s.data("data", "2")
	s.Annotate(s.dataObject("data"), "some", "note")
	s.RequireJobs(5, "root")
	s.RequireJobs(1, "plain")
}
