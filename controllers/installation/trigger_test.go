// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"
	"io"
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
