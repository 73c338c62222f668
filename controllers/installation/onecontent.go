// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/runtime/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// hasJob reports whether a child has been given the running job. It may be at work or done with it, so one job never writes it twice.
func (s *scope) hasJob(child kit.JobObject) bool {
	return jobs.Given(child, s.inst.Status.JobID)
}

// someHaveJob reports whether a child has been given the running job. Until then everything is made from the spec as it is now.
func (s *scope) someHaveJob() bool {
	return s.execution != nil && s.hasJob(s.execution) || s.someChildHasJob()
}

func (s *scope) someChildHasJob() bool {
	return slices.ContainsFunc(slices.Sorted(maps.Keys(s.children)), func(name string) bool { return s.hasJob(s.children[name]) })
}

// compare notes when a child that keeps what it has does not have what is wanted now.
func (s *scope) compare(has, wanted any) error {
	same, err := kit.SameJSON(has, wanted)
	if err != nil || same {
		return err
	}
	s.noteChange()
	return nil
}

// isOutdated reports whether the running job of a root has given the spec of some children while the rest would get those of a newer spec.
// Children of two specs may wait for each other until the job times out: one for an object that the other gives up only in the newer spec.
func (s *scope) isOutdated() bool {
	inst := s.inst
	return inst.IsRoot() && !inst.Spec.Suspend && inst.Generation != inst.Status.ObservedGeneration && s.someHaveJob()
}

// giveWay ends an outdated job, before any child gets the newer spec with it, once the children that have the job have ended it: of siblings one
// may wait for what another does in the same job. Those that get nowhere are interrupted. The next job follows in the same write.
func (r *Reconciler) giveWay(ctx context.Context, s *scope) error {
	atWork := s.execution != nil && s.isAtWork(s.execution) ||
		slices.ContainsFunc(slices.Sorted(maps.Keys(s.children)), func(name string) bool { return s.isAtWork(s.children[name]) })
	if !atWork {
		return &kit.Failure{Kind: kit.Stalled, Operation: jobs.Operation, Reason: jobs.ReasonAnotherJob, Err: errors.New(jobs.ChangedMessage)}
	}
	if err := r.interruptChildren(ctx, s, jobs.IsStuck); err != nil {
		return err
	}
	return s.awaitChildren()
}

// isAtWork reports whether a child is going to end the running job and has not yet.
func (s *scope) isAtWork(child kit.JobObject) bool {
	return s.hasJob(child) && child.GetDeletionTimestamp().IsZero() && child.Job().JobIDFinished != s.inst.Status.JobID
}

// noteOtherImports notes when sub-installations have the running job and what they import from here is going to be replaced.
func (r *Reconciler) noteOtherImports(ctx context.Context, s *scope) error {
	if !s.someChildHasJob() {
		return nil
	}
	copies, err := r.copies(ctx, s)
	if err != nil {
		return err
	}
	wanted, err := s.wantedCopies()
	if err == nil && !sameContents(slices.DeleteFunc(copies, data.Retired), wanted) {
		s.noteChange()
	}
	return err
}

// sameContents reports whether two sets of managed objects are the same by name and content.
func sameContents(has, wanted []client.Object) bool {
	byName := map[string]client.Object{}
	for _, object := range has {
		byName[object.GetName()] = object
	}
	return len(has) == len(wanted) && !slices.ContainsFunc(wanted, func(object client.Object) bool {
		present := byName[object.GetName()]
		return present == nil || !data.SameContent(present, object)
	})
}

func (s *scope) noteChange() {
	conditions.MarkTrue(s.inst, jobs.ChangedDuringJobCondition, jobs.ReasonAnotherJob, "%s", jobs.ChangedMessage)
}

// takeOverChange notes at the end of a job what sub-installations have noted during the same job: only roots start another.
func (s *scope) takeOverChange() {
	if s.outcome == nil {
		return
	}
	changed := slices.ContainsFunc(slices.Sorted(maps.Keys(s.children)), func(name string) bool {
		child := s.children[name]
		return child.Status.JobID == s.inst.Status.JobID && conditions.IsTrue(child, jobs.ChangedDuringJobCondition)
	})
	if changed {
		s.noteChange()
	}
}
