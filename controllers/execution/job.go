// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

const operation = "Reconcile"

// decideJob lets a running job go on and takes the job that the Installation wrote the spec for, or that somebody wrote into status.jobID.
func (r *Reconciler) decideJob(ctx context.Context, s *scope) error {
	job, step := nextJob(s.execution)
	if step == takeNoted {
		current, err := r.isCurrent(ctx, s.execution, job)
		if err != nil {
			return err
		}
		step = nothing
		if current {
			step = take
		}
	}
	switch step {
	case nothing:
		if lost, err := r.showLoss(ctx, s); err != nil {
			return err
		} else if !lost {
			s.showClock()
		}
		return r.mendIdle(ctx, s)
	case take:
		return r.take(ctx, s, job)
	}
	return nil
}

// step is what to do about jobs.
type step int

const (
	// nothing is to do: the last job has ended and none is asked for.
	nothing step = iota
	// take says that the status asks for a job that has not begun.
	take
	// takeNoted says the same of the annotation, which comes with a spec; it may be that of an earlier spec.
	takeNoted
	// goOn says that a job has begun.
	goOn
)

// nextJob returns the job that an Execution is to run, and whether it has begun. The annotation asks for one only while the spec is new: what
// runs again with the same spec gets its job by status, so that no client takes the last result for that of the new job.
func nextJob(execution *v1alpha1.Execution) (string, step) {
	status, asked := &execution.Status, execution.Annotations[v1alpha1.JobAnnotation]
	switch {
	case !status.IsIdle() && (status.Phase == "" || status.Phase.IsFinal()):
		return status.JobID, take
	case !status.IsIdle():
		return status.JobID, goOn
	case asked == "" || asked == status.JobID || execution.Generation == status.ObservedGeneration:
		return "", nothing
	}
	return asked, takeNoted
}

// isCurrent reports whether the job of the annotation is the last of the Installation. Another is the job before the last, and somebody else
// has changed the spec since. The cache may be older than the annotation, so only a live read says no.
func (r *Reconciler) isCurrent(ctx context.Context, execution *v1alpha1.Execution, job string) (bool, error) {
	if protocol.ControllerOf(execution, "Installation") == nil {
		return true, nil
	}
	for _, reader := range []client.Reader{r.Client, r.Live} {
		parent, err := parentOf(ctx, reader, execution)
		if err != nil || parent != nil && parent.Status.JobID == job {
			return err == nil, err
		}
	}
	return false, nil
}

// take begins a job. An Execution that no Installation made gets its finalizer now, before it has DeployItems to clean up. Where that is refused for
// good it is the job that fails, so that nobody waits for it.
func (r *Reconciler) take(ctx context.Context, s *scope, job string) error {
	change := protocol.MetadataChange{AddFinalizer: v1alpha1.Finalizer}
	if isLeftBehind(s.execution) {
		change.Annotations = dropped().Annotations
	}
	err := r.patchMetadata(ctx, s, change)
	if err == nil || protocol.IsRefusedForGood(err) {
		s.begin(job)
	}
	return err
}

// dropOperation removes an operation when nothing is running, and stops. An error of that says nothing about the last job, so it is not
// shown beside its result.
func (r *Reconciler) dropOperation(ctx context.Context, s *scope) error {
	if err := r.patchMetadata(ctx, s, dropped()); err != nil {
		return &unshown{err}
	}
	return protocol.ErrStop
}

// unshown is an error that is tried again and does not go into the status.
type unshown struct{ error }

// Unwrap returns the error itself.
func (u *unshown) Unwrap() error { return u.error }

// begin starts a job in memory; recordJob or settle writes it.
func (s *scope) begin(job string) {
	phase := v1alpha1.PhaseProgressing
	if !s.execution.DeletionTimestamp.IsZero() {
		phase = v1alpha1.PhaseDeleting
	}
	protocol.Begin(s.execution, job, phase, s.now)
	s.execution.Status.ObservedGeneration = s.execution.Generation
	protocol.Progress(s.execution, meta.ProgressingReason, workingMessage)
}

// recordJob makes a new job durable before anything is created for it.
func (r *Reconciler) recordJob(ctx context.Context, s *scope) error {
	return r.writeStatus(ctx, s)
}

// writeStatus writes the status if it changed.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) (err error) {
	s.persisted, err = protocol.WriteStatus(ctx, r.Client, s.execution, &s.execution.Status, s.persisted, &r.executions)
	return err
}

func (r *Reconciler) patchMetadata(ctx context.Context, s *scope, change protocol.MetadataChange) error {
	return protocol.PatchMetadataOnly(ctx, r.Client, s.execution, &s.execution.Status, change, &r.executions)
}

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	key, hidden := client.ObjectKeyFromObject(s.execution), (*unshown)(nil)
	switch {
	case err == nil:
		r.Backoff.Forget(key)
	case protocol.IsTransient(err), errors.As(err, &hidden):
		return r.Backoff.Later(ctx, key, err), nil
	default:
		r.absorb(s, protocol.AsOwnFailure(operation, err))
	}
	before := s.persisted
	if err := r.writeStatus(ctx, s); err != nil {
		return r.Backoff.Later(ctx, key, err), nil
	}
	if last := s.execution.Status.LastError; s.failed && last != nil && s.persisted != before {
		r.Recorder.AnnotatedEventf(s.execution, notify.Once(s.execution.Status.JobID), corev1.EventTypeWarning, last.Reason, "%s", last.Message)
	}
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

// absorb shows a failure in the status. One that needs a person ends the job.
func (r *Reconciler) absorb(s *scope, failure *protocol.Failure) {
	if failure.Kind == protocol.Stalled {
		s.fail(failure)
		return
	}
	protocol.TryAgain(s.execution, failure, s.now)
	s.requeue = r.Backoff.After(client.ObjectKeyFromObject(s.execution), failure)
}

func (s *scope) fail(failure *protocol.Failure) {
	protocol.Fail(s.execution, failure, s.now)
	s.failed = true
}

// readTemplates unpacks and validates the templates of the spec.
func readTemplates(_ context.Context, s *scope) error {
	if err := s.execution.Undecoded.Err(); err != nil {
		return protocol.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, err)
	}
	templates, err := storage.Unpack(&s.execution.Spec)
	if err != nil {
		return protocol.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, err)
	}
	if problems := validation.DeployItemTemplates(templates); len(problems) > 0 {
		return protocol.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, problems.ToAggregate())
	}
	if cycle := validation.DependencyCycle(templates); cycle != "" {
		return &protocol.Failure{
			Kind: protocol.Stalled, Operation: operation, Reason: "CyclicDependencies",
			Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies},
			Err:   errors.New(cycle),
		}
	}
	s.templates = templates
	return nil
}

// interrupt ends the job on every item that has not ended it, then the own job, and only then forgets the operation: whoever waits until
// no operation is left and the job has ended never sees the result of another job.
func (r *Reconciler) interrupt(ctx context.Context, s *scope) error {
	if s.execution.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		return nil
	}
	for _, item := range slices.Concat(slices.Collect(maps.Values(s.items)), s.orphans) {
		if err := r.interruptItem(ctx, s, item); err != nil {
			return err
		}
	}
	s.fail(protocol.Interrupted())
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	return r.dropOperation(ctx, s)
}

// dropped is the removal of the operation.
func dropped() protocol.MetadataChange {
	return protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}
}

// isLeftBehind reports whether the operation may have ended the last job already without being removed, because the process died in between. It
// must not end the next job. An Installation removes such an operation before it gives its Execution a job to apply, so one that comes with that
// job is for it.
func isLeftBehind(execution *v1alpha1.Execution) bool {
	last := execution.Status.LastError
	return execution.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt &&
		execution.Status.Phase.IsFinal() && last != nil && last.Operation == protocol.InterruptOperation &&
		(protocol.ControllerOf(execution, "Installation") == nil || !execution.DeletionTimestamp.IsZero())
}

// interruptItem writes the end of the job into the status of an item in place of its deployer, as the protocol says.
func (r *Reconciler) interruptItem(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	job := s.execution.Status.JobID
	if item.Status.JobIDFinished == job && !runsByClock(item) {
		return nil
	}
	item.Status.JobID = job
	protocol.Fail(item, protocol.Interrupted(), s.now)
	return protocol.WriteItemStatus(ctx, r.Client, item, s.now, &r.items)
}

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would not wait for the DeployItems. " +
	"To leave what they have deployed annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// mendIdle removes an operation where nothing is running, and stops. With the same write it puts back the finalizer that somebody has removed from an
// Execution with DeployItems, more and more rarely while that repeats.
func (r *Reconciler) mendIdle(ctx context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.execution).String()
	change, isLacking := dropped(), s.lacksFinalizer()
	if isLacking {
		if r.restored.IsInBackOffSinceUpdate(key, s.now) {
			s.requeue, isLacking = r.restored.Get(key), false
		} else {
			change.AddFinalizer = v1alpha1.Finalizer
		}
	}
	err := r.patchMetadata(ctx, s, change)
	if err != nil && (!isLacking || protocol.IsTransient(err) || apierrors.IsNotFound(err)) {
		return &unshown{err}
	}
	if isLacking {
		r.restored.Next(key, s.now)
	}
	if err != nil { // whoever refuses the finalizer does not keep the Execution from showing what it has lost
		ctrl.LoggerFrom(ctx).Error(err, "the finalizer cannot be put back; it is tried again")
		s.requeue = r.restored.Get(key)
		return protocol.ErrStop
	}
	if isLacking {
		r.Recorder.Event(s.execution, corev1.EventTypeWarning, queue.ReasonFinalizerRestored, finalizerRestoredMessage)
	}
	return protocol.ErrStop
}

// lacksFinalizer reports whether an Execution with something to uninstall is without the finalizer that its deletion waits for.
func (s *scope) lacksFinalizer() bool {
	return len(s.all) > 0 && !slices.Contains(s.execution.Finalizers, v1alpha1.Finalizer) &&
		s.execution.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
}
