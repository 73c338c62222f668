// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
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
