// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

func TestE08ANewRevisionIsNotForgotten(t *testing.T) {
	state := func(kind, revision, content string) v1alpha1.SourceStatus {
		return v1alpha1.SourceStatus{Kind: kind, Namespace: "n", Name: "s", Revision: revision, ContentDigest: content}
	}
	used := []v1alpha1.SourceStatus{state("GitRepository", "main@1", "abc")}
	now := func(revision, content string) *resolvedSource {
		return &resolvedSource{status: state("GitRepository", revision, content)}
	}
	gone := &fetch.Error{}
	for name, c := range map[string]struct {
		current *resolvedSource
		err     error
		starts  bool
		again   bool
	}{
		"the same revision":                      {current: now("main@1", "abc")},
		"the same revision, not readable":        {current: now("main@1", ""), err: io.ErrUnexpectedEOF},
		"a new revision with the same content":   {current: now("main@2", "abc")},
		"a new revision with other content":      {current: now("main@2", "def"), starts: true},
		"a new revision that cannot be fetched":  {current: now("main@2", ""), err: io.ErrUnexpectedEOF, again: true},
		"a new revision that is refused":         {current: now("main@2", ""), err: gone, starts: true},
		"a new revision without the path":        {current: now("main@2", ""), err: kit.Stall("o", "BlueprintNotFound", "x"), starts: true},
		"a source that is not ready":             {err: &flux.Error{Reason: flux.NotReady, Waiting: true}},
		"a source that is not there":             {err: &flux.Error{Reason: flux.NotFound, Waiting: true}},
		"a kind that the cluster does not serve": {err: &flux.Error{Reason: flux.NotInstalled}, again: true},
		"a reference that the policy forbids":    {err: &flux.Error{Reason: flux.AccessDenied}},
		"an incomplete Context":                  {err: lacking("no Context")},
		"an API server that does not answer":     {err: io.EOF, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			reason, err := judgeSource(used, c.current, c.err)
			assert.Equal(t, c.starts, reason != "")
			assert.Equal(t, c.again, errors.As(err, new(unreadSource)))
			assert.Equal(t, c.again, err != nil)
		})
	}
}

func TestE08ASourceThatIsTriedAgainChangesNoStatus(t *testing.T) {
	r := &Reconciler{Backoff: kit.NewBackoff(time.Second, time.Minute)}
	s := &scope{inst: &v1alpha1.Installation{}, now: time.Unix(1, 0)}
	first, final := r.absorb(s, unreadSource{io.ErrUnexpectedEOF})
	assert.True(t, final)
	second, _ := r.absorb(s, unreadSource{io.ErrUnexpectedEOF})
	assert.Greater(t, second.RequeueAfter, first.RequeueAfter)
	assert.Empty(t, s.inst.Status)
}

func TestMeaningOfAnOperation(t *testing.T) {
	with := func(operation, written, recorded string) *v1alpha1.Installation {
		inst := withJobs("b", "a")
		inst.Annotations = map[string]string{v1alpha1.OperationAnnotation: operation, v1alpha1.JobAnnotation: written}
		inst.Status.OperationJobID = recorded
		return inst
	}
	child := nested("", "a", "a")
	child.Annotations[v1alpha1.OperationAnnotation] = v1alpha1.OperationReconcile
	for name, c := range map[string]struct {
		inst *v1alpha1.Installation
		want operationMeaning
	}{
		"none":                                     {&v1alpha1.Installation{}, asksNothing},
		"the first":                                {with("reconcile", "", ""), asksForJob},
		"status says that it started a job":        {with("reconcile", "", "b"), asksNothing},
		"status says so, after an earlier one":     {with("reconcile", "a", "b"), asksNothing},
		"a new one after metadata said so as well": {with("reconcile", "b", "b"), asksForJob},
		"interrupt":                                {with("interrupt", "", ""), asksInVain},
		"interrupt behind one that started a job":  {with("interrupt", "a", "b"), asksInVain},
		"anything":                                 {with("anything", "", ""), asksInVain},
		"on a sub-installation":                    {child, asksInVain},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, meaningOf(c.inst)) })
	}
}

func TestWillStart(t *testing.T) {
	root := func(change func(*v1alpha1.Installation)) *v1alpha1.Installation {
		inst := withJobs("a", "a")
		inst.Annotations = map[string]string{}
		change(inst)
		return inst
	}
	for name, c := range map[string]struct {
		inst *v1alpha1.Installation
		want bool
	}{
		"nothing":   {root(func(*v1alpha1.Installation) {}), false},
		"requested": {root(func(inst *v1alpha1.Installation) { inst.Annotations[meta.ReconcileRequestAnnotation] = "now" }), true},
		"answered": {root(func(inst *v1alpha1.Installation) {
			inst.Annotations[meta.ReconcileRequestAnnotation], inst.Status.LastHandledReconcileAt = "now", "now"
		}), false},
		"operation": {root(operate), true},
		"operation in Git": {root(func(inst *v1alpha1.Installation) {
			operate(inst)
			(&Reconciler{Recorder: silent}).guardLoop(&scope{inst: inst})
		}), false},
		"new spec":                 {root(func(inst *v1alpha1.Installation) { following(inst).Generation = 2 }), true},
		"new spec, nobody follows": {root(func(inst *v1alpha1.Installation) { inst.Generation = 2 }), false},
		"suspended": {root(func(inst *v1alpha1.Installation) {
			operate(inst)
			inst.Spec.Suspend = true
		}), false},
		"in deletion": {root(func(inst *v1alpha1.Installation) {
			operate(inst)
			inst.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}), false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, willStart(c.inst)) })
	}
}

func TestCauses(t *testing.T) {
	root := func(change ...func(*v1alpha1.Installation)) *v1alpha1.Installation {
		inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root", Generation: 2}}
		inst.Status.ObservedGeneration = 2
		for _, c := range change {
			c(inst)
		}
		return inst
	}
	follows := func(inst *v1alpha1.Installation) { following(inst) }
	edited := func(inst *v1alpha1.Installation) { inst.Generation++ }
	inGit := func(inst *v1alpha1.Installation) {
		operate(inst)
		conditions.MarkTrue(inst, OperationInGitCondition, reasonLoopGuard, "%s", loopGuardMessage)
	}
	always := []cause{importedContent, request, clearWay, freeExports}
	for name, tc := range map[string]struct {
		inst *v1alpha1.Installation
		want []cause
	}{
		"sub-installation":               {root(nest, follows, edited), []cause{parentsJob}},
		"suspended":                      {root(follows, edited, func(inst *v1alpha1.Installation) { inst.Spec.Suspend = true }), nil},
		"follows nothing":                {root(), append(slices.Clone(always), lostExports, clock)},
		"follows nothing, edited":        {root(edited), always},
		"follows changes":                {root(follows), append(slices.Clone(always), lostExports, clock, arrivedImports, otherContext, newSource)},
		"follows changes, edited":        {root(follows, edited), append(slices.Clone(always), newSpec)},
		"an operation in Git, edited":    {root(inGit, edited), append(slices.Clone(always), newSpec)},
		"an operation of a person alone": {root(operate), append(slices.Clone(always), lostExports, clock)},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, causes(tc.inst)) })
	}
}

func TestShowPending(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Installation)
		want   string
	}{
		"edited, follows nothing":  {func(inst *v1alpha1.Installation) { inst.Generation++ }, kit.ReasonNotTriggered},
		"edited, follows changes":  {func(inst *v1alpha1.Installation) { following(inst); inst.Generation++ }, "Before"},
		"edited sub-installation":  {func(inst *v1alpha1.Installation) { nest(inst); inst.Generation++ }, "Before"},
		"suspended, with a result": {func(inst *v1alpha1.Installation) { inst.Spec.Suspend = true; inst.Generation++ }, meta.ReconciliationSucceededReason},
		"suspended, never started": {func(inst *v1alpha1.Installation) {
			inst.Spec.Suspend = true
			inst.Status = v1alpha1.InstallationStatus{}
		}, kit.ReasonSuspended},
		"the edit was taken back":       {func(inst *v1alpha1.Installation) { kit.Pending(inst, kit.ReasonNotTriggered, "pending") }, meta.ReconciliationSucceededReason},
		"the suspension was taken back": {func(inst *v1alpha1.Installation) { kit.Pending(inst, kit.ReasonSuspended, "pending") }, meta.ReconciliationSucceededReason},
		"the result was a failure": {func(inst *v1alpha1.Installation) {
			kit.Pending(inst, kit.ReasonNotTriggered, "pending")
			inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: "RenderFailed", Message: "boom"}
		}, "RenderFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root"}}
			inst.Status.Phase, inst.Status.JobID = v1alpha1.PhaseSucceeded, "a"
			conditions.MarkTrue(inst, meta.ReadyCondition, "Before", "as it was")
			tc.change(inst)
			(&scope{inst: inst}).showPending()
			assert.Equal(t, tc.want, conditions.GetReason(inst, meta.ReadyCondition))
		})
	}
}

func TestRunning(t *testing.T) {
	root, child := withJobs("b", "a"), nested("b", "b", "a")
	suspended := following(withJobs("a", "a"))
	suspended.Generation, suspended.Spec.Suspend = 2, true
	edited := following(withJobs("a", "a"))
	edited.Generation = 2
	for name, tc := range map[string]struct {
		inst, predecessor *v1alpha1.Installation
		want              bool
	}{
		"idle":                              {root, withJobs("a", "a"), false},
		"at work":                           {root, withJobs("b", "a"), true},
		"about to start":                    {root, edited, true},
		"suspended":                         {root, suspended, false},
		"nested, done with the job":         {child, nested("b", "b", "b"), false},
		"nested, idle but not with the job": {child, nested("b", "a", "a"), true},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, running(tc.inst, tc.predecessor)) })
	}
}
