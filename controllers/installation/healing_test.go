// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
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

func TestF09SuspensionLeavesReadyAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		show func(*v1alpha1.Installation)
		want string
	}{
		"succeeded":     {func(inst *v1alpha1.Installation) { kit.Succeed(inst, "done", time.Unix(1, 0)) }, meta.ReconciliationSucceededReason},
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
