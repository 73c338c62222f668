// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/writing"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// recordJob makes a new job durable before anything is created for it, with the children that it is going to make.
func (r *Reconciler) recordJob(ctx context.Context, s *reconciliation) error {
	if s.family.SomeChildHasJob() {
		if same, err := r.publisher.HasCopies(ctx, s.plan); err != nil {
			return err
		} else if !same {
			s.family.NoteChange() // what sub-installations import from here is going to be replaced
		}
	}
	if !s.family.SomeHaveJob() {
		s.Inst.Status.ObservedGeneration = s.Inst.Generation
		s.Inst.Status.LastAttemptedRevision = jobs.RevisionOf(s.Inst)
	}
	s.Inst.Status.ExecutionReference = nil
	if s.family.Execution != nil || len(s.plan.DeployItems) > 0 {
		s.family.ReferToExecution()
	}
	if len(s.plan.Subinstallations)+len(s.family.Children) == 0 {
		s.Inst.Status.SubInstCache = nil
		kit.SetPhase(s.Inst.Job(), v1alpha1.PhaseProgressing, s.Now)
	} else {
		kit.SetPhase(s.Inst.Job(), v1alpha1.PhaseInit, s.Now)
		if err := s.family.List(s.plan.Subinstallations, r.Inputs.SignaturePolicy == inputs.Enforce); err != nil {
			return err
		}
	}
	if s.Inst.Status.LastError == nil {
		if s.triggered == "" {
			kit.Progress(s.Inst, meta.ProgressingReason, "job started")
		}
		s.Inst.Status.LastError = kit.NewError(nil, jobs.Unfinished, s.Now)
	}
	return r.writer.Begin(ctx, s.Draft)
}

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *reconciliation, err error) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.Inst)
	if err == nil {
		r.Backoff.Forget(key)
	} else if retry, final := r.absorb(s, err); final {
		return retry, nil
	}
	if s.Outcome != nil {
		r.plans.Forget(key)
		s.family.TakeOverChange()
	}
	if writeErr := r.writer.Settle(ctx, s.Draft); writeErr != nil && !errors.Is(writeErr, kit.ErrStop) {
		return r.Backoff.Later(ctx, key, fmt.Errorf("write the end of a reconciliation: %w", writeErr)), nil
	}
	return ctrl.Result{RequeueAfter: s.Requeue}, nil
}

// absorb puts a failure into the status. It returns final when nothing is to be written.
func (r *Reconciler) absorb(s *reconciliation, err error) (ctrl.Result, bool) {
	key := client.ObjectKeyFromObject(s.Inst)
	if kit.IsTransient(err) || errors.As(err, new(inputs.UnreadSource)) {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, err)}, true
	}
	failure := kit.AsOwnFailure(jobs.Operation, err)
	if failure.Kind == kit.Stalled && s.plan.Clusters != nil && s.plan.Clusters.Unanswered != nil {
		failure = &kit.Failure{Kind: kit.Retry, Operation: failure.Operation, Reason: "ClusterUnreachable", Err: failure.Err}
	}
	if failure.Kind == kit.Stalled && s.plan.Clusters != nil && s.plan.Clusters.Refused != nil {
		failure.Reason = jobs.ReasonBeyondImports
	}
	if failure.Kind == kit.Stalled && force.Requested(s.Inst) {
		failure = &kit.Failure{Kind: kit.Retry, Operation: force.Operation, Reason: failure.Reason, Err: failure.Err} // nothing else begins it again
	}
	switch failure.Kind {
	case kit.Stalled:
		s.fail(failure)
	case kit.Waiting:
		kit.Progress(s.Inst, failure.Reason, failure.Error())
	case kit.Retry:
		kit.TryAgain(s.Inst, failure, s.Now)
		s.Wake(r.Backoff.After(key, err))
	}
	return ctrl.Result{}, false
}

func (s *reconciliation) fail(failure *kit.Failure) {
	failure.Heals = failure.Heals || jobs.Heals(s.Inst, failure.Operation, failure.Reason)
	if kit.Fail(s.Inst, failure, s.Now) {
		s.recordRevision()
	}
	s.announceRetry(failure)
	s.Outcome = &writing.Outcome{Failure: failure, Took: s.took()}
}

// complete ends the job well.
func (r *Reconciler) complete(_ context.Context, s *reconciliation) error {
	if len(s.family.Children) == 0 {
		s.Inst.Status.SubInstCache = nil
	} else if s.Inst.Status.SubInstCache != nil {
		s.Inst.Status.SubInstCache.OrphanedSubs = nil
	}
	kit.Succeed(s.Inst, "", s.Now)
	s.recordRevision()
	s.showSuccess()
	s.forgetCounter(false)
	s.Outcome = &writing.Outcome{Message: conditions.GetMessage(s.Inst, meta.ReadyCondition), Took: s.took()}
	return nil
}

// publishExports computes the exports and publishes them.
func (r *Reconciler) publishExports(ctx context.Context, s *reconciliation) error {
	exports, err := r.plans.Exports(ctx, s.plan, s.family.Execution)
	if err != nil {
		return err
	}
	return r.publisher.PublishExports(ctx, s.plan, exports)
}

// markApplied records that all children have their specs. Without sub-installations the Execution itself shows it, unless a failure on the
// way has to be taken back. Without any children it records nothing: nothing is waited for, so this reconciliation says how the job goes on, and
// whatever is written here as well would begin the next one.
func (r *Reconciler) markApplied(ctx context.Context, s *reconciliation) error {
	if s.Inst.Status.ExecutionReference == nil && s.Inst.Status.SubInstCache == nil {
		return nil
	}
	if s.Inst.Status.Phase == v1alpha1.PhaseProgressing && jobs.IsUnfinished(s.Inst.Status.LastError) {
		return nil
	}
	kit.SetPhase(s.Inst.Job(), v1alpha1.PhaseProgressing, s.Now)
	s.Inst.Status.LastError = kit.NewError(s.Inst.Status.LastError, jobs.Unfinished, s.Now)
	kit.Progress(s.Inst, meta.ProgressingReason, children.WorkingMessage)
	return r.writer.WriteStatus(ctx, s.Draft)
}

// recordRevision enters into the status of an Installation, whose job has just ended, which revision the job used, and what it deployed as
// newest entry of the history. A job whose spec was replaced after the children got it used what recordJob noted, and leaves no entry: nobody has
// that spec any more.
func (s *reconciliation) recordRevision() {
	status := &s.Inst.Status
	replaced := s.Inst.Generation != status.ObservedGeneration && s.family.SomeHaveJob()
	if !replaced {
		status.LastAttemptedRevision = jobs.RevisionOf(s.Inst)
	}
	if status.Phase == v1alpha1.PhaseSucceeded {
		status.LastAppliedRevision = status.LastAttemptedRevision
	}
	if replaced {
		return
	}
	var metadata map[string]string
	if revision := status.LastAttemptedRevision; revision != "" {
		metadata = map[string]string{"revision": revision}
	}
	history := meta.History(status.History)
	history.Upsert(jobs.ContentOf(s.Inst), s.Now, s.took(), string(status.Phase), metadata)
	status.History = history
}

// took returns for how long the job that ends has run. Status has whole seconds; the process that has begun the job knows better.
func (s *reconciliation) took() time.Duration {
	if begun, ok := s.begun.Load(client.ObjectKeyFromObject(s.Inst)); ok && begun.(begunJob).id == s.Inst.Status.JobID {
		return s.Now.Sub(begun.(begunJob).at).Round(100 * time.Millisecond)
	}
	if times := s.Inst.Status.TransitionTimes; times != nil && times.TriggerTime != nil {
		return max(s.Now.Sub(times.TriggerTime.Time), 0).Round(time.Second)
	}
	return 0
}

// showSuccess shows what the last job, which has succeeded, has deployed.
func (s *reconciliation) showSuccess() {
	items, took := 0, ""
	if s.family.Execution != nil {
		if templates, err := packing.Unpack(&s.family.Execution.Spec); err == nil {
			items = len(templates)
		}
	}
	if history := s.Inst.Status.History; len(history) > 0 && history[0].LastReconciledStatus == string(v1alpha1.PhaseSucceeded) {
		took = history[0].LastReconciledDuration.Duration.String()
	}
	conditions.MarkTrue(s.Inst, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", jobs.SucceededMessage(s.Inst, items, took))
}
