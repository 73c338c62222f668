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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

func TestF08WhatHealsByItselfIsNotStalled(t *testing.T) {
	root := func() *v1alpha1.Installation { return &v1alpha1.Installation{} }
	suspended := following(root())
	suspended.Spec.Suspend = true
	deleted := following(root())
	deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		inst              *v1alpha1.Installation
		operation, reason string
		heals             bool
	}{
		"missing import":                          {following(root()), importOperation, reasonImportNotFound, true},
		"missing import, nobody follows":          {root(), importOperation, reasonImportNotFound, false},
		"incomplete Context":                      {following(root()), contextOperation, reasonContextIncomplete, true},
		"incomplete Context, nobody follows":      {root(), contextOperation, reasonContextIncomplete, false},
		"more than the Context allows":            {following(root()), renderOperation, reasonBeyondImports, true},
		"the same, nobody follows":                {root(), exportOperation, reasonBeyondImports, false},
		"kind of source that is not there":        {following(root()), operation, string(flux.NotInstalled), true},
		"failed predecessor":                      {root(), orderOperation, reasonPredecessorFailed, true},
		"failed predecessor of a nested one":      {nested("", "", ""), orderOperation, reasonPredecessorFailed, false},
		"cycle":                                   {following(root()), orderOperation, reasonCyclicDependencies, false},
		"templates that fail":                     {following(root()), renderOperation, "RenderFailed", false},
		"a deploy item that failed":               {following(root()), operation, "DeployItemFailed", false},
		"missing import of a suspended one":       {suspended, importOperation, reasonImportNotFound, false},
		"missing import of one that is deleted":   {deleted, importOperation, reasonImportNotFound, false},
		"somebody else's Execution in the way":    {following(root()), operation, reasonExecutionExists, false},
		"a login that a registry does not accept": {following(root()), componentOperation, reasonUnauthorized, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{inst: c.inst, now: time.Unix(2, 0)}
			s.fail(&kit.Failure{Kind: kit.Stalled, Operation: c.operation, Reason: c.reason, Err: assert.AnError})
			assert.True(t, c.inst.Status.Phase.IsFailed())
			assert.True(t, c.inst.Status.IsIdle())
			assert.True(t, conditions.IsFalse(c.inst, meta.ReadyCondition))
			assert.Equal(t, c.heals, conditions.IsReconciling(c.inst))
			assert.Equal(t, !c.heals, conditions.IsStalled(c.inst))
		})
	}
}

func TestF08ARootHealsWhenAllThatFailedBelowDo(t *testing.T) {
	failed := func(name, operation, reason string) *v1alpha1.Installation {
		child := working(name, name, "job")
		child.Status.JobIDFinished, child.Status.Phase = "job", v1alpha1.PhaseFailed
		child.Status.LastError = &v1alpha1.Error{Operation: operation, Reason: reason}
		return child
	}
	good := failed("good", "", "")
	good.Status.Phase, good.Status.LastError = v1alpha1.PhaseSucceeded, nil
	incomplete, follower := failed("a", contextOperation, reasonContextIncomplete), failed("b", orderOperation, reasonPredecessorFailed)
	refused := failed("e", renderOperation, reasonBeyondImports)
	broken, lost := failed("c", renderOperation, "RenderFailed"), failed("d", "", "")
	lost.Status.LastError = nil
	for name, tc := range map[string]struct {
		below []*v1alpha1.Installation
		heals bool
	}{
		"nothing below":                     {},
		"one misses a part of its Context":  {[]*v1alpha1.Installation{good, incomplete}, true},
		"one wants more than its Context":   {[]*v1alpha1.Installation{good, incomplete, refused}, true},
		"another waits for it":              {[]*v1alpha1.Installation{incomplete, follower}, true},
		"another has failed for itself":     {[]*v1alpha1.Installation{incomplete, broken}, false},
		"another does not say why":          {[]*v1alpha1.Installation{incomplete, lost}, false},
		"one waits for one that is no more": {[]*v1alpha1.Installation{follower}, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.heals, healTogether(tc.below)) })
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
			root, middle, leaf := following(working("root", "1", "job")), working("middle", "2", "job"), working("leaf", "3", "job")
			root.Spec.ComponentDescriptor = &v1alpha1.ComponentDescriptorDefinition{}
			for _, pair := range [][2]*v1alpha1.Installation{{root, middle}, {middle, leaf}} {
				below(pair[0], pair[1])
				pair[0].Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{ObjectName: pair[1].Name}}}
				pair[1].Status.JobIDFinished, pair[1].Status.Phase = "job", v1alpha1.PhaseFailed
			}
			middle.Status.LastError = &v1alpha1.Error{Reason: reasonChildrenFailed}
			leaf.Status.LastError = &v1alpha1.Error{Operation: contextOperation, Reason: reasonContextIncomplete}
			execution := &v1alpha1.Execution{}
			execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = "job", "job", v1alpha1.PhaseSucceeded
			tc.change(root, execution)

			s := &scope{inst: root, execution: execution, children: map[string]*v1alpha1.Installation{"middle": middle}, now: time.Unix(2, 0)}
			var failure *kit.Failure
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
		"succeeded":     {func(inst *v1alpha1.Installation) { inst.Status.JobID = "a"; kit.Succeed(inst, "done", time.Unix(1, 0)) }, meta.ReconciliationSucceededReason},
		"never started": {func(*v1alpha1.Installation) {}, kit.ReasonSuspended},
	} {
		t.Run(name, func(t *testing.T) {
			inst := following(&v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Generation: 2}})
			c.show(inst)
			inst.Status.ObservedGeneration, inst.Spec.Suspend = 1, true
			reason, err := (&Reconciler{}).trigger(t.Context(), &scope{inst: inst, now: time.Unix(2, 0)})
			assert.NoError(t, err)
			assert.Empty(t, reason)
			assert.Equal(t, c.want, conditions.GetReason(inst, meta.ReadyCondition))
		})
	}
}
