// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestAFailedDeletionOfASuccessorCounts(t *testing.T) {
	failed := func(job string) *v1alpha1.Installation {
		inst := fixture.WithJobs(job, job)
		inst.Status.Phase = v1alpha1.PhaseDeleteFailed
		return inst
	}
	trying := failed("b")
	trying.Status.JobID = "c"
	for name, tc := range map[string]struct {
		inst, parent, successor *v1alpha1.Installation
		want                    bool
	}{
		"of a root":       {fixture.WithJobs("b", "a"), nil, failed("x"), true},
		"in the same job": {fixture.Nested("", "b", "a"), fixture.Leaving(fixture.WithJobs("b", "a")), failed("b"), true},
		"in the job of the parent, not in the own": {fixture.Nested("", "own", "a"), fixture.Leaving(fixture.WithJobs("b", "a")), failed("b"), true},
		"in an earlier job":                        {fixture.Nested("", "b", "a"), fixture.Leaving(fixture.WithJobs("b", "a")), failed("a"), false},
		"while the parent is not deleted":          {fixture.Nested("", "own", "a"), fixture.WithJobs("b", "b"), failed("b"), false},
		"tried again":                              {fixture.WithJobs("b", "a"), nil, trying, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, FailedWith(tc.inst, tc.parent, tc.successor)) })
	}
}

func TestClaimOf(t *testing.T) {
	const job = "job"
	parent := fixture.Working("root", "0", job)
	idle, ahead := fixture.Working("root", "0", job), fixture.Working("root", "0", "next")
	idle.Status.JobIDFinished = job
	child := func(job string, exports bool) *v1alpha1.Installation {
		inst := fixture.Exporter("other", "2", "")
		inst.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, v1alpha1.GroupVersion.WithKind("Installation"))}
		inst.Labels = map[string]string{v1alpha1.EncompassedByLabel: parent.Name}
		inst.Status.JobID = job
		if !exports {
			inst.Spec.Exports.Data = nil
		}
		return inst
	}
	noted := child("former", true)
	noted.Annotations = map[string]string{v1alpha1.JobAnnotation: job}
	key := relations.ExportsOf(child(job, true))[0]
	for name, tc := range map[string]struct {
		parent, owner *v1alpha1.Installation
		want          Claim
	}{
		"the owner is gone":                        {nil, nil, Abandoned},
		"the owner exports it":                     {nil, child("", true), refused},
		"the owner exports it no more":             {nil, child("", false), Inherited},
		"a sibling exports it no more":             {parent, child(job, false), Inherited},
		"a sibling that is to get its spec":        {parent, child("former", true), Early},
		"a sibling with the spec of the job":       {parent, noted, refused},
		"a sibling at the job":                     {parent, child(job, true), refused},
		"the parent has ended the job":             {idle, child("former", true), refused},
		"the parent is at another job":             {ahead, child("former", true), refused},
		"the owner has another parent or none":     {fixture.Working("else", "1", job), child("former", true), refused},
		"a sibling that never had one, as yet new": {parent, child("", false), Inherited},
	} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Working("new", "9", job)
			assert.Equal(t, tc.want, ClaimOf(inst, tc.parent, tc.owner, key))
		})
	}
}

func TestOnlyIdleFailuresWaitForExports(t *testing.T) {
	inst := fixture.Exporter("new", "9", ReasonExportOwnedByOther)
	assert.True(t, LostToRival(inst))
	inst.Status.JobID = "next"
	assert.False(t, LostToRival(inst))
	inst.Status.JobIDFinished, inst.Status.Phase = "next", v1alpha1.PhaseSucceeded
	assert.False(t, LostToRival(inst))
}

func TestWillStart(t *testing.T) {
	root := func(change func(*v1alpha1.Installation)) *v1alpha1.Installation {
		inst := fixture.WithJobs("a", "a")
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
		"operation": {root(fixture.Operate), true},
		"operation in Git": {root(func(inst *v1alpha1.Installation) {
			fixture.Operate(inst)
			conditions.MarkTrue(inst, OperationInGitCondition, protocol.ReasonLoopGuard, "it comes with every sync")
		}), false},
		"new spec":                 {root(func(inst *v1alpha1.Installation) { fixture.Following(inst).Generation = 2 }), true},
		"new spec, nobody follows": {root(func(inst *v1alpha1.Installation) { inst.Generation = 2 }), false},
		"nobody has looked at it":  {root(func(inst *v1alpha1.Installation) { inst.Status = v1alpha1.InstallationStatus{} }), true},
		"nobody looks at it": {root(func(inst *v1alpha1.Installation) {
			inst.Status, inst.Annotations = v1alpha1.InstallationStatus{}, map[string]string{v1alpha1.IgnoreAnnotation: "true"}
		}), false},
		"looked at, nobody follows": {root(func(inst *v1alpha1.Installation) {
			inst.Status = v1alpha1.InstallationStatus{}
			protocol.Pending(inst, protocol.ReasonNotTriggered, "the spec is not applied yet")
		}), false},
		"suspended": {root(func(inst *v1alpha1.Installation) {
			fixture.Operate(inst)
			inst.Spec.Suspend = true
		}), false},
		"left alone": {root(func(inst *v1alpha1.Installation) {
			fixture.Following(inst).Generation = 2
			inst.Annotations[v1alpha1.IgnoreAnnotation] = "true"
		}), false},
		"in deletion": {root(func(inst *v1alpha1.Installation) {
			fixture.Operate(inst)
			inst.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
		}), false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, WillStart(c.inst)) })
	}
}

func TestRunning(t *testing.T) {
	root, child := fixture.WithJobs("b", "a"), fixture.Nested("b", "b", "a")
	suspended := fixture.Following(fixture.WithJobs("a", "a"))
	suspended.Generation, suspended.Spec.Suspend = 2, true
	edited := fixture.Following(fixture.WithJobs("a", "a"))
	edited.Generation = 2
	for name, tc := range map[string]struct {
		inst, predecessor *v1alpha1.Installation
		want              bool
	}{
		"idle":                              {root, fixture.WithJobs("a", "a"), false},
		"at work":                           {root, fixture.WithJobs("b", "a"), true},
		"about to start":                    {root, edited, true},
		"suspended":                         {root, suspended, false},
		"nested, done with the job":         {child, fixture.Nested("b", "b", "b"), false},
		"nested, idle but not with the job": {child, fixture.Nested("b", "a", "a"), true},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, Running(tc.inst, tc.predecessor)) })
	}
}
