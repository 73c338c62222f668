// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestF08WhatHealsByItselfIsNotStalled(t *testing.T) {
	root := func() *v1alpha1.Installation { return &v1alpha1.Installation{} }
	suspended := fixture.Following(root())
	suspended.Spec.Suspend = true
	deleted := fixture.Following(root())
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		inst              *v1alpha1.Installation
		operation, reason string
		heals             bool
	}{
		"missing import":                          {fixture.Following(root()), jobs.ImportOperation, jobs.ReasonImportNotFound, true},
		"missing import, nobody follows":          {root(), jobs.ImportOperation, jobs.ReasonImportNotFound, false},
		"incomplete Context":                      {fixture.Following(root()), jobs.ContextOperation, jobs.ReasonContextIncomplete, true},
		"incomplete Context, nobody follows":      {root(), jobs.ContextOperation, jobs.ReasonContextIncomplete, false},
		"more than the Context allows":            {fixture.Following(root()), jobs.RenderOperation, jobs.ReasonBeyondImports, true},
		"the same, nobody follows":                {root(), jobs.ExportOperation, jobs.ReasonBeyondImports, false},
		"kind of source that is not there":        {fixture.Following(root()), jobs.Operation, string(flux.NotInstalled), true},
		"failed predecessor":                      {root(), jobs.OrderOperation, jobs.ReasonPredecessorFailed, true},
		"failed predecessor of a nested one":      {fixture.Nested("", "", ""), jobs.OrderOperation, jobs.ReasonPredecessorFailed, false},
		"cycle":                                   {fixture.Following(root()), jobs.OrderOperation, jobs.ReasonCyclicDependencies, false},
		"templates that fail":                     {fixture.Following(root()), jobs.RenderOperation, "RenderFailed", false},
		"a deploy item that failed":               {fixture.Following(root()), jobs.Operation, "DeployItemFailed", false},
		"missing import of a suspended one":       {suspended, jobs.ImportOperation, jobs.ReasonImportNotFound, false},
		"missing import of one that is deleted":   {deleted, jobs.ImportOperation, jobs.ReasonImportNotFound, false},
		"somebody else's Execution in the way":    {fixture.Following(root()), jobs.Operation, reasonExecutionExists, false},
		"a login that a registry does not accept": {fixture.Following(root()), jobs.ComponentOperation, "Unauthorized", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScope(c.inst, time.Unix(2, 0))
			s.fail(&protocol.Failure{Kind: protocol.Stalled, Operation: c.operation, Reason: c.reason, Err: assert.AnError})
			assert.True(t, c.inst.Status.Phase.IsFailed())
			assert.True(t, c.inst.Status.IsIdle())
			assert.True(t, conditions.IsFalse(c.inst, meta.ReadyCondition))
			assert.Equal(t, c.heals, conditions.IsReconciling(c.inst))
			assert.Equal(t, !c.heals, conditions.IsStalled(c.inst))
		})
	}
}

// TestF08TheRootSaysWhetherWhatFailedBelowHeals has the cause two levels below the root.
func TestF08TheRootSaysWhetherWhatFailedBelowHeals(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(root *v1alpha1.Installation, execution *v1alpha1.Execution)
		heals  bool
	}{
		"it follows changes":           {func(*v1alpha1.Installation, *v1alpha1.Execution) {}, true},
		"it follows no changes":        {func(root *v1alpha1.Installation, _ *v1alpha1.Execution) { root.Annotations = nil }, false},
		"it is suspended":              {func(root *v1alpha1.Installation, _ *v1alpha1.Execution) { root.Spec.Suspend = true }, false},
		"it needs no component":        {func(root *v1alpha1.Installation, _ *v1alpha1.Execution) { root.Spec.ComponentDescriptor = nil }, true},
		"its Execution failed as well": {func(_ *v1alpha1.Installation, e *v1alpha1.Execution) { e.Status.Phase = v1alpha1.PhaseFailed }, false},
	} {
		t.Run(name, func(t *testing.T) {
			root, middle, leaf := fixture.Following(fixture.Working("root", "1", "job")), fixture.Working("middle", "2", "job"), fixture.Working("leaf", "3", "job")
			root.Spec.ComponentDescriptor = &v1alpha1.ComponentDescriptorDefinition{}
			for _, pair := range [][2]*v1alpha1.Installation{{root, middle}, {middle, leaf}} {
				fixture.Below(pair[0], pair[1])
				pair[0].Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{ObjectName: pair[1].Name}}}
				pair[1].Status.JobIDFinished, pair[1].Status.Phase = "job", v1alpha1.PhaseFailed
			}
			middle.Status.LastError = &v1alpha1.Error{Reason: jobs.ReasonChildrenFailed}
			leaf.Status.LastError = &v1alpha1.Error{Operation: jobs.ContextOperation, Reason: jobs.ReasonContextIncomplete}
			execution := &v1alpha1.Execution{}
			execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = "job", "job", v1alpha1.PhaseSucceeded
			tc.change(root, execution)

			s := newScope(root, time.Unix(2, 0))
			s.execution, s.children = execution, map[string]*v1alpha1.Installation{"middle": middle}
			var failure *protocol.Failure
			require.ErrorAs(t, with(t, root, middle, leaf).observeChildren(t.Context(), s), &failure)
			s.fail(failure)
			assert.Equal(t, tc.heals, conditions.IsReconciling(root))
			assert.Equal(t, !tc.heals, conditions.IsStalled(root))
		})
	}
}

func TestF09SuspensionLeavesReadyAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		show func(*v1alpha1.Installation)
		want string
	}{
		"succeeded": {func(inst *v1alpha1.Installation) {
			inst.Status.JobID = "a"
			protocol.Succeed(inst, "done", time.Unix(1, 0))
		}, meta.ReconciliationSucceededReason},
		"never started": {func(*v1alpha1.Installation) {}, protocol.ReasonSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Following(&v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Generation: 2}})
			c.show(inst)
			inst.Status.ObservedGeneration, inst.Spec.Suspend = 1, true
			reason, err := (&Reconciler{}).trigger(t.Context(), newScope(inst, time.Unix(2, 0)))
			assert.NoError(t, err)
			assert.Empty(t, reason)
			assert.Equal(t, c.want, conditions.GetReason(inst, meta.ReadyCondition))
		})
	}
}

// over returns an Installation that follows changes and imports a number from a ConfigMap, with what its blueprint makes of it.
func (s *stage) over(name string, blueprint object) (*v1alpha1.Installation, *corev1.ConfigMap) {
	config := &corev1.ConfigMap{ObjectMeta: s.named(name), Data: map[string]string{"size": "many"}}
	inst := fixture.Following(&v1alpha1.Installation{ObjectMeta: s.named(name)})
	inst.Spec.Blueprint = fixture.InlineBlueprint(blueprint)
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "size", ConfigMapRef: &v1alpha1.LocalConfigMapReference{Name: name, Key: "size"}}}
	return inst, config
}

func TestAJobThatFailedOverAValueRunsAgainWhenThatChanges(t *testing.T) {
	number := []any{object{"name": "size", "schema": object{"type": "integer"}}}
	anything := []any{object{"name": "size", "schema": object{}}}
	for name, blueprint := range map[string]object{
		"a schema":   {"imports": number},
		"a template": {"imports": anything, "deployExecutions": []any{object{"name": "default", "type": "GoTemplate", "template": `{{ if eq (toString .imports.size) "many" }}{{ fail "no number" }}{{ end }}deployItems: []`}}},
		"a schema of a sub-installation": {"imports": anything, "subinstallations": []any{object{
			"name": "child", "imports": object{"data": []any{object{"name": "size", "dataRef": "size"}}},
			"blueprint": object{"filesystem": object{"blueprint.yaml": fixture.JSONOf(object{
				"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint", "imports": number,
			})}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			inst, config := s.over("sized", blueprint)
			s.create(config, inst)
			failed := s.ended("sized", "", v1alpha1.PhaseFailed)
			assert.True(t, conditions.IsStalled(failed), "a person has to correct the value")
			s.quiet()
			require.Equal(t, failed.Status.JobID, s.installation("sized", always).Status.JobID)

			edit(s, config, func(config *corev1.ConfigMap) { config.Data["size"] = "lots" })
			if name != "a template" {
				failed = s.ended("sized", failed.Status.JobID, v1alpha1.PhaseFailed)
			}
			edit(s, config, func(config *corev1.ConfigMap) { config.Data["size"] = "3" })
			s.ended("sized", failed.Status.JobID, v1alpha1.PhaseSucceeded)
			s.quiet()
		})
	}
}

func TestAnImportThatIsDeletedIsShownWithoutAJob(t *testing.T) {
	s := newStage(t)
	inst, config := s.over("sized", object{"imports": []any{object{"name": "size", "schema": object{}}}})
	s.create(config, inst)
	done := s.ended("sized", "", v1alpha1.PhaseSucceeded)
	assert.False(t, conditions.Has(done, jobs.ImportMissingCondition))
	assert.Regexp(t, "^Deployed 0 items in [0-9.]+s$", conditions.GetMessage(done, meta.ReadyCondition))

	require.NoError(t, s.client.Delete(s.ctx, config))
	shown := s.installation("sized", func(inst *v1alpha1.Installation) bool { return conditions.IsTrue(inst, jobs.ImportMissingCondition) })
	assert.Equal(t, jobs.ReasonImportNotFound, conditions.GetReason(shown, jobs.ImportMissingCondition))
	assert.Contains(t, conditions.GetMessage(shown, jobs.ImportMissingCondition), `(import "size"): ConfigMap `+s.namespace+"/sized not found; create it")
	assert.True(t, conditions.IsReady(shown), "what is deployed stays")
	s.quiet()

	config.ResourceVersion = ""
	s.create(config)
	back := s.installation("sized", func(inst *v1alpha1.Installation) bool { return !conditions.Has(inst, jobs.ImportMissingCondition) })
	s.quiet()
	assert.Equal(t, done.Status.JobID, back.Status.JobID)
}
