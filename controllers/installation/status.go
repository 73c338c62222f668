// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// recordJob makes a new job durable before anything is created for it, with the children that it is going to make.
func (r *Reconciler) recordJob(ctx context.Context, s *scope) error {
	if s.someChildHasJob() {
		if same, err := r.hasCopies(ctx, s); err != nil {
			return err
		} else if !same {
			s.noteChange() // what sub-installations import from here is going to be replaced
		}
	}
	if !s.some(s.hasJob) {
		s.inst.Status.ObservedGeneration = s.inst.Generation
		s.inst.Status.LastAttemptedRevision = jobs.RevisionOf(s.inst)
	}
	s.inst.Status.ExecutionReference = nil
	if s.execution != nil || len(s.deployItems) > 0 {
		s.referToExecution()
	}
	if len(s.subinstallations)+len(s.children) == 0 {
		s.inst.Status.SubInstCache = nil
		protocol.SetPhase(s.inst.Job(), v1alpha1.PhaseProgressing, s.now)
	} else {
		protocol.SetPhase(s.inst.Job(), v1alpha1.PhaseInit, s.now)
		if err := s.listChildren(s.subinstallations, r.Inputs.SignaturePolicy == inputs.Enforce); err != nil {
			return err
		}
	}
	if s.inst.Status.LastError == nil {
		if s.triggered == "" {
			protocol.Progress(s.inst, meta.ProgressingReason, "job started")
		}
		s.inst.Status.LastError = protocol.NewError(nil, jobs.Unfinished, s.now)
	}
	return r.writeStart(ctx, s)
}

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.inst)
	if r.Observe != nil {
		r.Observe(s.inst, s.triggered, err)
	}
	if err == nil {
		r.Backoff.Forget(key)
	} else if retry, final := r.absorb(s, err); final {
		return retry, nil
	}
	if s.outcome != nil {
		r.forget(key)
		s.takeOverChange()
	}
	if writeErr := r.writeEnd(ctx, s); writeErr != nil && !errors.Is(writeErr, protocol.ErrStop) {
		return r.Backoff.Later(ctx, key, fmt.Errorf("write the end of a reconciliation: %w", writeErr)), nil
	}
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

// absorb puts a failure into the status. It returns final when nothing is to be written.
func (r *Reconciler) absorb(s *scope, err error) (ctrl.Result, bool) {
	key := client.ObjectKeyFromObject(s.inst)
	if protocol.IsTransient(err) || errors.As(err, new(inputs.UnreadSource)) {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, err)}, true
	}
	failure := protocol.AsOwnFailure(jobs.Operation, err)
	if failure.Kind == protocol.Stalled && s.clusters != nil && s.clusters.Unanswered != nil {
		failure = &protocol.Failure{Kind: protocol.Retry, Operation: failure.Operation, Reason: "ClusterUnreachable", Err: failure.Err}
	}
	if failure.Kind == protocol.Stalled && s.clusters != nil && s.clusters.Refused != nil {
		failure.Reason = jobs.ReasonBeyondImports
	}
	if failure.Kind == protocol.Stalled && forceRequested(s.inst) {
		failure = &protocol.Failure{Kind: protocol.Retry, Operation: forceOperation, Reason: failure.Reason, Err: failure.Err} // nothing else begins it again
	}
	switch failure.Kind {
	case protocol.Stalled:
		s.fail(failure)
	case protocol.Waiting:
		protocol.Progress(s.inst, failure.Reason, failure.Error())
	case protocol.Retry:
		protocol.TryAgain(s.inst, failure, s.now)
		s.wake(r.Backoff.After(key, err))
	}
	return ctrl.Result{}, false
}

func (s *scope) fail(failure *protocol.Failure) {
	failure.Heals = failure.Heals || jobs.Heals(s.inst, failure.Operation, failure.Reason)
	if protocol.Fail(s.inst, failure, s.now) {
		s.recordRevision()
	}
	s.announceRetry(failure)
	s.outcome = &outcome{failure: failure, took: s.took()}
}

// complete ends the job well.
func (r *Reconciler) complete(_ context.Context, s *scope) error {
	if len(s.children) == 0 {
		s.inst.Status.SubInstCache = nil
	} else if s.inst.Status.SubInstCache != nil {
		s.inst.Status.SubInstCache.OrphanedSubs = nil
	}
	protocol.Succeed(s.inst, "", s.now)
	s.recordRevision()
	s.showSuccess()
	s.forgetCounter(false)
	s.outcome = &outcome{message: conditions.GetMessage(s.inst, meta.ReadyCondition), took: s.took()}
	return nil
}

// markApplied records that all children have their specs. Without sub-installations the Execution itself shows it, unless a failure on the
// way has to be taken back. Without any children it records nothing: nothing is waited for, so this reconciliation says how the job goes on, and
// whatever is written here as well would begin the next one.
func (r *Reconciler) markApplied(ctx context.Context, s *scope) error {
	if s.inst.Status.ExecutionReference == nil && s.inst.Status.SubInstCache == nil {
		return nil
	}
	if s.inst.Status.Phase == v1alpha1.PhaseProgressing && jobs.IsUnfinished(s.inst.Status.LastError) {
		return nil
	}
	protocol.SetPhase(s.inst.Job(), v1alpha1.PhaseProgressing, s.now)
	s.inst.Status.LastError = protocol.NewError(s.inst.Status.LastError, jobs.Unfinished, s.now)
	protocol.Progress(s.inst, meta.ProgressingReason, workingMessage)
	return r.writeStatus(ctx, s)
}

// recordRevision enters into the status of an Installation, whose job has just ended, which revision the job used, and what it deployed as
// newest entry of the history. A job whose spec was replaced after the children got it used what recordJob noted, and leaves no entry: nobody has
// that spec any more.
func (s *scope) recordRevision() {
	status := &s.inst.Status
	replaced := s.inst.Generation != status.ObservedGeneration && s.some(s.hasJob)
	if !replaced {
		status.LastAttemptedRevision = jobs.RevisionOf(s.inst)
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
	history.Upsert(jobs.ContentOf(s.inst), s.now, s.took(), string(status.Phase), metadata)
	status.History = history
}

// took returns for how long the job that ends has run. Status has whole seconds; the process that has begun the job knows better.
func (s *scope) took() time.Duration {
	if begun, ok := s.begun.Load(client.ObjectKeyFromObject(s.inst)); ok && begun.(begunJob).id == s.inst.Status.JobID {
		return s.now.Sub(begun.(begunJob).at).Round(100 * time.Millisecond)
	}
	if times := s.inst.Status.TransitionTimes; times != nil && times.TriggerTime != nil {
		return max(s.now.Sub(times.TriggerTime.Time), 0).Round(time.Second)
	}
	return 0
}

// showSuccess shows what the last job, which has succeeded, has deployed.
func (s *scope) showSuccess() {
	items, took := 0, ""
	if s.execution != nil {
		if templates, err := storage.Unpack(&s.execution.Spec); err == nil {
			items = len(templates)
		}
	}
	if history := s.inst.Status.History; len(history) > 0 && history[0].LastReconciledStatus == string(v1alpha1.PhaseSucceeded) {
		took = history[0].LastReconciledDuration.Duration.String()
	}
	conditions.MarkTrue(s.inst, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", jobs.SucceededMessage(s.inst, items, took))
}

// writeEnd writes the status, with the job that follows, and then what metadata has to say about the operation that started the job.
func (r *Reconciler) writeEnd(ctx context.Context, s *scope) error {
	if err := r.recordStart(ctx, s); err != nil {
		return err
	}
	if err := r.queueNext(ctx, s); err != nil {
		return err
	}
	jobs.CloseOperation(s.inst)
	before := s.persisted
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	if s.persisted != before {
		r.announce(ctx, s)
	}
	return r.mend(ctx, s)
}

// writeStart makes a new job durable before anything is created for it: first its ID, then the finalizer and that no operation is left.
func (r *Reconciler) writeStart(ctx context.Context, s *scope) error {
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	return r.patchMetadata(ctx, s, s.answer(protocol.MetadataChange{AddFinalizer: v1alpha1.Finalizer}))
}

// recordStart writes that the job of an operation has started, in status and then in metadata, where it ends in the reconciliation that started
// it: no version may show the end while nothing but the annotations tells whether the operation is the one that the job answers.
func (r *Reconciler) recordStart(ctx context.Context, s *scope) error {
	if s.started == nil || !jobs.OperationAnswered(s.inst) || s.inst.Status.JobIDFinished != s.inst.Status.OperationJobID {
		return nil
	}
	end := s.inst.Status.DeepCopy()
	s.inst.Status = *s.started
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	if err := r.mend(ctx, s); err != nil {
		return err
	}
	s.inst.Status = *end
	return nil
}

// writeStatus writes the status if it changed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) (err error) {
	s.persisted, err = protocol.WriteStatus(ctx, r.Client, s.inst, &s.inst.Status, s.persisted, &r.installations)
	return err
}

// queueNext requests the job that has to follow in the same write that ends one, so that nobody sees an idle Installation in between.
func (r *Reconciler) queueNext(ctx context.Context, s *scope) error {
	if s.outcome == nil {
		return nil
	}
	parent, err := r.related.Parent(ctx, s.inst)
	if err != nil {
		return err
	}
	if job, message := jobs.NextJob(s.inst, parent); job != "" {
		s.inst.Status.JobID = job
		protocol.Progress(s.inst, meta.ProgressingReason, message)
	}
	return nil
}

// announce logs the end of a job and sends the event of it.
func (r *Reconciler) announce(ctx context.Context, s *scope) {
	if s.outcome == nil {
		return
	}
	kind, reason, message := corev1.EventTypeNormal, meta.ReconciliationSucceededReason, s.outcome.message
	if failure := s.outcome.failure; failure != nil {
		kind, reason, message = corev1.EventTypeWarning, failure.Reason, failure.Error()
		if reason == jobs.ReasonAnotherJob {
			kind = corev1.EventTypeNormal
		}
	}
	r.logEnd(ctx, s, s.inst.Status.JobIDFinished, string(s.inst.Status.Phase), reason, s.outcome.took)
	r.Recorder.AnnotatedEventf(s.inst, jobs.EventMetadata(s.inst), kind, reason, "%s", message)
}

// reasonUninstalled says that nothing of an Installation is left.
const reasonUninstalled = "UninstallSucceeded"

// announceRelease logs the end of a deletion that let an Installation go, and sends the event of it.
func (r *Reconciler) announceRelease(ctx context.Context, s *scope, took time.Duration) {
	message := "Uninstalled"
	if revision := s.inst.Status.LastAppliedRevision; revision != "" {
		message += " " + jobs.ShortRevision(revision)
	}
	if jobs.KeepsDeployed(s.inst) {
		message = "Deleted without uninstall"
	}
	if took > 0 {
		message += " in " + took.String()
	}
	r.logEnd(ctx, s, s.inst.Status.JobID, "Deleted", reasonUninstalled, took)
	r.Recorder.AnnotatedEventf(s.inst, jobs.EventMetadata(s.inst), corev1.EventTypeNormal, reasonUninstalled, "%s", message)
}

// logEnd writes the line that each job of an Installation leaves.
func (r *Reconciler) logEnd(ctx context.Context, s *scope, job, result, reason string, took time.Duration) {
	root := s.inst
	for range relations.MaxDepth {
		parent, err := r.related.Parent(ctx, root)
		if err != nil || parent == nil {
			break
		}
		root = parent
	}
	ctrl.LoggerFrom(ctx).Info("job ended", "root", root.Name, "job", job, "revision", s.inst.Status.LastAttemptedRevision,
		"duration", took.String(), "result", result, "reason", reason)
}

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would not wait for what is installed. " +
	"To leave it there annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// patchMetadata writes metadata and keeps the status that this reconciliation has prepared.
func (r *Reconciler) patchMetadata(ctx context.Context, s *scope, change protocol.MetadataChange) error {
	err := protocol.PatchMetadataOnly(ctx, r.Client, s.inst, &s.inst.Status, change, &r.installations)
	if apierrors.IsNotFound(err) {
		return protocol.ErrStop
	}
	return err
}

// mend removes the operation annotation that has started a job, after status said so: whoever waits for the end of the job sees
// either the annotation or the new job. It puts the finalizer back where a client has removed it while there is something to clean up, more and
// more rarely while that repeats. It writes nothing where nothing is amiss.
func (r *Reconciler) mend(ctx context.Context, s *scope) error {
	key, change := client.ObjectKeyFromObject(s.inst).String(), protocol.MetadataChange{}
	isLacking := s.inst.DeletionTimestamp.IsZero() && (s.inst.Status.ExecutionReference != nil || s.inst.Status.SubInstCache != nil) &&
		!slices.Contains(s.inst.Finalizers, v1alpha1.Finalizer)
	if isLacking && r.restored.IsInBackOffSinceUpdate(key, s.now) {
		s.wake(r.restored.Get(key))
		isLacking = false
	}
	if isLacking {
		change.AddFinalizer = v1alpha1.Finalizer
	}
	if err := r.patchMetadata(ctx, s, s.answer(change)); err != nil || !isLacking {
		return err
	}
	r.restored.Next(key, s.now)
	r.Recorder.Event(s.inst, corev1.EventTypeWarning, queue.ReasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}

// answer adds to a change of metadata what forgets the operation that has started a job.
func (s *scope) answer(change protocol.MetadataChange) protocol.MetadataChange {
	if !jobs.OperationAnswered(s.inst) {
		return change
	}
	change.Annotations = map[string]*string{v1alpha1.JobAnnotation: &s.inst.Status.OperationJobID, v1alpha1.ReconcileReasonAnnotation: nil}
	if s.inst.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationReconcile {
		change.Annotations[v1alpha1.OperationAnnotation] = nil
	}
	return change
}

// findLoss returns what an idle Installation has lost; nil when nothing.
func (r *Reconciler) findLoss(ctx context.Context, s *scope) (*jobs.Loss, error) {
	if found := jobs.LossOf(s.inst, s.execution, s.children); found != nil {
		return found, nil
	}
	lost, err := r.lostExport(ctx, s.inst)
	if lost == "" || err != nil {
		return nil, err
	}
	return &jobs.Loss{Reason: protocol.ReasonExportLost, Message: lost + " was deleted, which this installation exports: the next job of the root exports it again"}, nil
}

// showLoss makes an idle Installation that has lost a child Stalled and not Ready, and takes that back. The phase stays that of the last job, and
// no job starts: whoever deleted the child, or took it out of its owner, may have meant it. Deploy items that have failed by the clock, and exports that are gone, make it not
// Ready and Reconciling, as the clock tries again and the root exports again. A cache may be behind, so that a child that it does not show is looked for.
func (r *Reconciler) showLoss(ctx context.Context, s *scope) (shown bool, err error) {
	before := jobs.IsLoss(jobs.ReadyOf(s.inst).Reason)
	found, err := r.findLoss(ctx, s)
	if err != nil {
		return false, err
	}
	if found == nil {
		if before {
			conditions.Delete(s.inst, meta.StalledCondition)
			conditions.Delete(s.inst, meta.ReconcilingCondition)
			s.restoreReady()
		}
		return false, nil
	}
	if found.Missing != nil {
		if isThere, err := r.lookFor(ctx, s, found, before); err != nil || isThere {
			return false, err
		}
	}
	protocol.ShowFailure(s.inst, &protocol.Failure{
		Kind: protocol.Stalled, Operation: jobs.Operation, Reason: found.Reason, Heals: found.Reason != protocol.ReasonChildLost, Err: errors.New(found.Message),
	})
	if s.inst.IsRoot() && s.inst.Spec.Suspend {
		s.inst.Status.ObservedGeneration = s.inst.Generation // as that of every suspended one is
	}
	return true, nil
}

// lookFor reports whether a child is there that the cache does not show among those of the Installation. One that is there and has another owner, or
// none, is lost, too. What was shown before is not looked for live again.
func (r *Reconciler) lookFor(ctx context.Context, s *scope, found *jobs.Loss, shown bool) (isThere bool, err error) {
	var reader client.Reader = r.Live
	if shown {
		reader = r.Client
	}
	switch err := reader.Get(ctx, client.ObjectKeyFromObject(found.Missing), found.Missing); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, err
	case metav1.IsControlledBy(found.Missing, s.inst):
		return !shown, nil
	}
	found.Message = found.Disowned
	return false, nil
}

// exportPace is the least time between the end of a job and the next one for an export that somebody has deleted.
const exportPace = 10 * time.Second

// exportsAgain returns why a root has to export again: it has lost an export, or an Installation below it says so. That ends the wait of those who
// import it. A job for it comes at a pace, whoever deletes exports how often ever.
func (r *Reconciler) exportsAgain(ctx context.Context, s *scope) (string, error) {
	lost, err := r.lostExport(ctx, s.inst)
	if err != nil {
		return "", err
	}
	if below := jobs.LossOf(s.inst, s.execution, s.children); lost == "" && below != nil && below.Reason == protocol.ReasonExportLost {
		lost = below.Message
	}
	times := s.inst.Status.TransitionTimes
	if lost == "" || times == nil || times.FinishedTime == nil || s.inst.Status.ObservedGeneration != s.inst.Generation {
		return "", nil
	}
	if due := times.FinishedTime.Add(exportPace); due.After(s.now) && !protocol.IsAhead(due, s.now) {
		s.wake(due.Sub(s.now))
		return "", nil
	}
	return "an export is gone: " + lost, nil
}
