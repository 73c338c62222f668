// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// decideJob lets a running job go on, starts one when something asks for it, and stops otherwise.
func (r *Reconciler) decideJob(ctx context.Context, s *scope) error {
	if !s.inst.Status.IsIdle() {
		return r.takeUp(ctx, s)
	}
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	reason, err := r.trigger(ctx, s)
	if err != nil {
		return err
	}
	if reason == "" {
		return kit.ErrStop
	}
	s.start(jobs.NewJobID(s.inst), reason)
	return nil
}

// takeUp begins a job that was requested from outside or queued behind an earlier one: the phase still belongs to the
// job before.
func (r *Reconciler) takeUp(ctx context.Context, s *scope) error {
	if phase := s.inst.Status.Phase; phase != "" && !phase.IsFinal() {
		return nil
	}
	if err := r.readOperation(ctx, s); err != nil {
		return err
	}
	s.start(s.inst.Status.JobID, "job requested")
	return nil
}

// trigger returns why a job has to start now, or nothing. When it returns nothing although the spec changed or a child is lost, the status
// says so.
func (r *Reconciler) trigger(ctx context.Context, s *scope) (string, error) {
	var unknown error
	for _, cause := range jobs.Causes(s.inst) {
		reason, err := r.asks(ctx, s, cause)
		if errors.As(err, new(unreadSource)) {
			unknown = err // something else may ask for a job, which says what cannot be read
			continue
		}
		if reason != "" || err != nil {
			return reason, err
		}
	}
	if unknown != nil {
		return "", unknown
	}
	if shown, err := r.showLoss(ctx, s); err != nil || shown {
		return "", err
	}
	s.showPending()
	return "", nil
}

// asks returns why one thing asks for a job, or nothing.
func (r *Reconciler) asks(ctx context.Context, s *scope, cause jobs.Cause) (string, error) {
	inst := s.inst
	switch cause {
	case jobs.ParentsJob:
		return r.nestedTrigger(ctx, inst)
	case jobs.ImportedContent:
		return r.importedChange(ctx, inst)
	case jobs.Request:
		return reasonIf(s.asked || jobs.Requested(inst), "reconciliation was requested"), nil
	case jobs.ClearWay:
		return reasonIf(s.wayIsClear(), "the Execution that was in the way is gone"), nil
	case jobs.FreeExports:
		free, err := r.exportsAreFree(ctx, inst)
		return reasonIf(free, "the exports that another installation held are free"), err
	case jobs.LostExports:
		return r.exportsAgain(ctx, s)
	case jobs.Clock:
		return reasonIf(s.dueByClock(), s.clockReason()), nil
	case jobs.NewSpec:
		return fmt.Sprintf("generation %d is new", inst.Generation), nil
	case jobs.ArrivedImports:
		arrived, err := r.importsArrived(ctx, inst)
		return reasonIf(arrived, "the imports that were missing are there"), err
	case jobs.OtherContext:
		return r.changedContext(ctx, inst)
	}
	return r.changedSource(ctx, inst)
}

// showPending shows that a changed spec is not applied, and takes that back when it is none any more.
func (s *scope) showPending() {
	switch {
	case !s.inst.IsRoot():
	case s.inst.Spec.Suspend && s.inst.Status.JobID == "":
		kit.Pending(s.inst, kit.ReasonSuspended, "spec.suspend is set; nothing starts until it is removed")
	case s.inst.Spec.Suspend:
		// What is suspended stays what it is, and whoever waits for the spec to be observed, as a Flux Kustomization does, waits no longer. The end
		// of the suspension is another spec, so no change is lost.
		s.inst.Status.ObservedGeneration = s.inst.Generation
		s.restoreReady()
	case !jobs.FollowsChanges(s.inst):
		s.pending(s.inst.Generation != s.inst.Status.ObservedGeneration, kit.ReasonNotTriggered, "the spec is not applied yet: annotate "+
			v1alpha1.OperationAnnotation+"=reconcile to apply it once, or "+
			v1alpha1.ReconcileIfChangedAnnotation+"=true to apply every change")
	}
}

// importedChange tells what an import brought that asks for a job: other exports of siblings, and where an annotation asks for it any other
// content.
func (r *Reconciler) importedChange(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if reason, err := r.producedChange(ctx, inst); reason != "" || err != nil {
		return reason, err
	}
	return r.changedImports(ctx, inst)
}

// wayIsClear reports whether the last job failed because of somebody else's Execution and now there is none.
func (s *scope) wayIsClear() bool {
	last := s.inst.Status.LastError
	return s.inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Reason == reasonExecutionExists &&
		!s.foreign && s.execution == nil
}

// importsArrived reports whether the last job failed because of a missing import and now nothing is missing.
func (r *Reconciler) importsArrived(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	last := inst.Status.LastError
	if inst.Status.Phase != v1alpha1.PhaseFailed || last == nil || last.Operation != jobs.ImportOperation || last.Reason != jobs.ReasonImportNotFound {
		return false, nil
	}
	_, err := r.readImports(ctx, inst)
	if isUnread(err) {
		return false, unreadSource{err}
	}
	return err == nil, nil
}

// changedImports reports whether the content of an import is another than the last job used, where an annotation asks for it. Imports
// that are not there, or not as they have to be, count as unchanged: their next event comes back here. The new content counts as used from
// now on, however the job ends.
func (r *Reconciler) changedImports(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if inst.Annotations[v1alpha1.ReconcileIfImportsChangedAnnotation] != "true" || inst.Status.ImportsHash == "" {
		return "", nil
	}
	imports, err := r.readImports(ctx, inst)
	if isUnread(err) {
		return "", unreadSource{err}
	}
	if err != nil || data.HashOf(imports.hashes) == inst.Status.ImportsHash {
		return "", nil
	}
	inst.Status.ImportsHash = data.HashOf(imports.hashes)
	return "the content of an import changed", nil
}

// nestedTrigger starts the job that the parent wrote the spec for.
func (r *Reconciler) nestedTrigger(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	parent, err := r.related().Parent(ctx, inst)
	return reasonIf(err == nil && jobs.JobFromParent(inst, parent) != "", "job of the parent"), err
}

// pending shows that a changed spec is not applied.
func (s *scope) pending(changed bool, reason, message string) {
	if changed {
		kit.Pending(s.inst, reason, message)
		return
	}
	if ready := conditions.Get(s.inst, meta.ReadyCondition); ready != nil &&
		(ready.Reason == kit.ReasonNotTriggered || ready.Reason == kit.ReasonSuspended) {
		s.restoreReady()
	}
}

// restoreReady shows the result of the last job again after a change was taken back.
func (s *scope) restoreReady() {
	switch last := s.inst.Status.LastError; {
	case s.inst.Status.Phase == v1alpha1.PhaseSucceeded:
		conditions.MarkTrue(s.inst, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", succeededMessage)
	case last != nil:
		kit.ShowFailure(s.inst, jobs.FailureOf(s.inst))
	}
}

// start begins a new job in memory; recordJob or settle writes it.
func (s *scope) start(id, reason string) {
	s.triggered = reason
	s.countAutomatic()
	phase := v1alpha1.PhaseInit
	if !s.inst.DeletionTimestamp.IsZero() {
		phase = v1alpha1.PhaseDeleting
	}
	kit.Begin(s.inst, id, phase, s.now)
	s.observe()
	if s.asked {
		s.inst.Status.OperationJobID = id
	}
	conditions.Delete(s.inst, meta.StalledCondition)
	conditions.Delete(s.inst, jobs.ChangedDuringJobCondition)
	kit.Progress(s.inst, meta.ProgressingReason, "job started: "+reason)
	s.started = s.inst.Status.DeepCopy()
}

// observe records what the running job works on.
func (s *scope) observe() {
	s.inst.Status.ObservedGeneration = s.inst.Generation
	if token, ok := meta.ReconcileAnnotationValue(s.inst.Annotations); ok {
		s.inst.Status.LastHandledReconcileAt = token
	}
}

// changedSource tells which referenced source has other content than the last job used. A new revision that cannot be read now is tried
// again, and one that can never be read starts a job that fails visibly. What the next event of the source ends counts as unchanged.
func (r *Reconciler) changedSource(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	for _, use := range sourceUses(inst) {
		current, err := r.currentSource(ctx, inst, use)
		reason, err := judgeSource(inst.Status.Sources, current, err)
		if reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// unreadSource is why nobody knows whether a source or an import changed. It is tried again and not shown: the last job stands.
type unreadSource struct{ error }

// Unwrap returns the cause.
func (u unreadSource) Unwrap() error { return u.error }

// judgeSource returns why the present state of a source asks for a job after one that used others; "" when it does not. Current is nil where
// the source says itself that it has nothing to use; it has no content digest where err says why the artifact could not be read.
func judgeSource(used []v1alpha1.SourceStatus, current *resolvedSource, err error) (string, error) {
	if current == nil {
		return "", sourceToCome(err)
	}
	if slices.ContainsFunc(used, func(used v1alpha1.SourceStatus) bool { return sameSource(used, current.status) }) {
		return "", nil
	}
	failure := kit.AsFailure(jobs.Operation, sourceFailure("", err))
	if err != nil && failure.Kind != kit.Stalled {
		return "", unreadSource{err}
	}
	return fmt.Sprintf("%s %s/%s has revision %s", current.status.Kind, current.status.Namespace, current.status.Name, current.status.Revision), nil
}

// sourceToCome returns nil when an event of the source ends a problem, and otherwise that it has to be looked at again: kinds that are installed
// later send no events.
func sourceToCome(err error) error {
	var problem *flux.Error
	if kit.IsTransient(err) || errors.As(err, &problem) && problem.Reason == flux.NotInstalled {
		return unreadSource{err}
	}
	return nil
}

// currentSource reads a source as a job would.
func (r *Reconciler) currentSource(ctx context.Context, inst *v1alpha1.Installation, use sourceUse) (*resolvedSource, error) {
	found, err := r.contextOf(ctx, inst)
	if err != nil {
		return nil, err
	}
	source, err := r.lookupSource(ctx, inst, use, found.requiresVerified())
	if source != nil {
		source.reserved.give()
	}
	return source, err
}

// sameSource reports whether two states of a source hold the same for us. A GitRepository or Bucket is shared by many
// things, so only the content of the used path counts; an OCIRepository or ExternalArtifact is one published thing, so its
// revision counts.
func sameSource(used, current v1alpha1.SourceStatus) bool {
	if used.Kind != current.Kind || used.Namespace != current.Namespace || used.Name != current.Name {
		return false
	}
	if used.Revision == current.Revision {
		return true
	}
	return sharedKind(current.Kind) && used.ContentDigest != "" && used.ContentDigest == current.ContentDigest
}

func reasonIf(started bool, reason string) string {
	if started {
		return reason
	}
	return ""
}
