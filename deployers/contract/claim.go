// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/writes"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const loopGuardMessage = "the annotation " + v1alpha1.OperationAnnotation + " is kept in Git, so it would start a job at every sync; it only starts " +
	"one when the spec changed. Remove it in Git; to start a job by hand set it without Flux"

// starter begins jobs, also those that the test annotation asks for, and takes over those that an earlier process began.
type starter struct {
	live     client.Reader
	options  *Options
	deployer string
	// itemType is the type of the items that it takes.
	itemType string
	// planner is nil where the deployer is none.
	planner Planner
	// typed is nil where the deployer is not.
	typed   Typed
	targets *targets
	jobs    *jobs.Jobs
	writes  *writes.Writer
}

// by is what jobs say about who began them.
func (r *starter) by() v1alpha1.DeployerInformation {
	return v1alpha1.DeployerInformation{Identity: r.options.Identity, Name: r.deployer, Version: r.options.Version, Type: r.itemType}
}

// takeTestRequest turns the test annotation into a job that no Execution asked for. A running job ends first. The annotation goes after
// the job was written, so that whoever waits until no operation is left and the job has ended never sees an old result.
func (r *starter) takeTestRequest(ctx context.Context, s *scope) error {
	if !items.IsTestRequested(s.item) {
		return r.endGuard(ctx, s)
	}
	if !s.item.Job().IsIdle() {
		return nil
	}
	wasGuarded := items.IsGuarded(s.item)
	if isVain, err := r.guardLoop(ctx, s); err != nil {
		return err
	} else if isVain {
		if wasGuarded {
			return nil
		}
		return stopAfter(r.writes.Status(ctx, s.item))
	}
	s.own = true
	s.item.Status.JobID = items.TestJob + uuid.NewString()
	s.item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
	return nil
}

// forgetTestRequest removes the test annotation before this process calls the deployer for the job it asked for, also when an earlier
// process began that job. One that comes later asks for another job. One that Flux keeps stays.
func (r *starter) forgetTestRequest(ctx context.Context, s *scope) error {
	if s.job.Answers || !items.IsTestRequested(s.item) || !items.IsTestJob(s.job.ID) || items.IsGuarded(s.item) {
		s.job.Answers = true
		return nil
	}
	err := r.writes.Metadata(ctx, s.item, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
	s.job.Answers = err == nil
	return err
}

// skipUninstall lets an item go whose deployed objects are to stay.
func (r *starter) skipUninstall(ctx context.Context, s *scope) error {
	if !s.deleting() || s.item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true" {
		return nil
	}
	r.jobs.Forget(s.key())
	return stopAfter(r.writes.Release(ctx, s.item))
}

// pickUp begins a job that no deployer has begun yet, with one status write. A job that this deployer began before a restart is resumed; one
// that another deployer of the type has begun is left to it.
func (r *starter) pickUp(ctx context.Context, s *scope) error {
	if known := r.jobs.Of(s.key()); known != nil && known.IsCurrent(s.item) {
		s.job = known
		return nil
	}
	if items.IsBegun(s.item) {
		return r.resume(s)
	}
	if r.isUnchanged(ctx, s) {
		return r.finishUnchanged(ctx, s)
	}
	items.NoteLost(s.item)
	if err := r.options.Sources.note(ctx, s.item); err != nil {
		return err
	}
	now := time.Now()
	r.jobs.Void(s.item).TakeBack(s.item)
	items.Begin(s.item, r.by(), now)
	r.noteKeys(s)
	made := r.plan(ctx, s)
	if err := r.writes.Status(ctx, s.item); err != nil {
		return err
	}
	s.job = r.jobs.Claim(s.item, now, made)
	r.jobs.Drop(s.key())
	return nil
}

// resume takes a job that has begun over from an earlier process of this deployer. A job of another deployer is taken over once it is
// late, to end it: its deployer would have done so if it were alive.
func (r *starter) resume(s *scope) error {
	if left := items.UntilTakeover(s.item, r.options.Identity, r.options.MaxTimeout, time.Now()); left != 0 {
		s.requeue = max(left, 0)
		return kit.ErrStop
	}
	s.job = r.jobs.Claim(s.item, items.Began(s.item, time.Now()), jobs.Plan{})
	return nil
}

// isUnchanged reports whether the item asks to skip jobs that would repeat the last success.
func (r *starter) isUnchanged(ctx context.Context, s *scope) bool {
	status := s.item.Status
	return s.item.Spec.UpdateOnChangeOnly && !s.deleting() && !s.own &&
		status.ObservedGeneration == s.item.Generation && status.Phase == v1alpha1.PhaseSucceeded && r.targets.isWhereItWas(ctx, s) && r.options.Sources.isUsed(ctx, s.item)
}

func (r *starter) finishUnchanged(ctx context.Context, s *scope) error {
	now := time.Now()
	items.Stamp(s.item, r.by(), now)
	kit.Succeed(s.item, "Nothing changed since the last success", now)
	return stopAfter(r.writes.Status(ctx, s.item))
}

// plan writes into the status of an item what its new job sets out to do.
func (r *starter) plan(ctx context.Context, s *scope) jobs.Plan {
	if r.planner == nil || s.deleting() {
		return jobs.Plan{}
	}
	return jobs.PlanOf(s.item, r.planner.Plan(s.item, r.targets.destination(ctx, s)))
}

// guardLoop reports whether the test annotation of an idle item asks for nothing: Flux, which would put it back at every sync, keeps it, and
// the present spec had its job. A deletion is not synced, and always has its job.
func (r *starter) guardLoop(ctx context.Context, s *scope) (bool, error) {
	isKept := false
	if !s.deleting() {
		var err error
		if isKept, err = kit.IsAppliedByFlux(ctx, r.live, s.item, "DeployItem", v1alpha1.OperationAnnotation); err != nil {
			return false, err
		}
	}
	if !isKept {
		conditions.Delete(s.item, kit.OperationInGitCondition)
		return false, nil
	}
	if !items.IsGuarded(s.item) {
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, kit.ReasonLoopGuard, loopGuardMessage)
		conditions.MarkTrue(s.item, kit.OperationInGitCondition, kit.ReasonLoopGuard, "%s", loopGuardMessage)
	}
	return s.item.Status.ObservedGeneration == s.item.Generation, nil
}

// endGuard takes the condition off an item that is idle and has no test annotation any more, and ends the pass.
func (r *starter) endGuard(ctx context.Context, s *scope) error {
	if !items.IsGuarded(s.item) || !s.item.Job().IsIdle() {
		return nil
	}
	conditions.Delete(s.item, kit.OperationInGitCondition)
	return stopAfter(r.writes.Status(ctx, s.item))
}

// noteKeys sets the condition about unknown keys for the job that begins, and posts an event when it says something new.
func (r *starter) noteKeys(s *scope) {
	_, others := document.Near(unknownKeys(r.typed, s.item))
	if kit.NoteUnknownKeys(s.item, "spec.config: ", others) {
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, kit.UnknownKey, conditions.GetMessage(s.item, v1alpha1.UnknownKeysCondition))
	}
}
