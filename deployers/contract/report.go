// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// report turns the answer of the deployer into the end of the job or into what it waits for.
func (r *reconciler) report(ctx context.Context, s *scope) error {
	if s.err == nil && s.outcome.Done {
		return r.succeed(ctx, s)
	}
	if s.err == nil {
		return r.wait(ctx, s, s.outcome.Waiting)
	}
	failure := failureOf(s.err)
	late := isCheckpoint(s.err) || s.isLate(time.Now())
	switch {
	case late && (failure.Kind != kit.Stalled || isCheckpoint(s.err)):
		return r.fail(ctx, s, s.timeout(s.err))
	case failure.Kind == kit.Stalled:
		return r.fail(ctx, s, failure)
	case failure.Kind == kit.Waiting:
		return r.wait(ctx, s, failure.Error())
	}
	return r.retry(ctx, s, failure)
}

// succeed ends the job well: exports first, so that whoever sees the final phase finds them.
func (r *reconciler) succeed(ctx context.Context, s *scope) error {
	if s.deleting() {
		return r.letGo(ctx, s)
	}
	reference, err := r.publish(ctx, s)
	if err != nil {
		s.err = err
		return r.report(ctx, s)
	}
	err = r.finish(ctx, s, func(item *v1alpha1.DeployItem, now time.Time) {
		item.Status.ExportReference = reference
		conditions.Delete(item, v1alpha1.RecordLostCondition) // what is deployed is on record again
		kit.Succeed(item, s.success(), now)
	})
	if err != nil {
		return err
	}
	r.announce(s)
	if s.outcome.Warning != "" {
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, reasonWarning, kit.Message(s.outcome.Warning))
	}
	return nil
}

// announce posts the event of a job that ended well. Its token tells receivers of notifications that it is another one than that of the job before.
func (r *reconciler) announce(s *scope) {
	event := s.outcome.Event
	if event == nil {
		return
	}
	metadata := map[string]string{v1alpha1.GroupName + "/" + kit.EventTokenKey: s.item.Status.JobIDFinished}
	if event.Revision != "" {
		metadata[v1alpha1.GroupName+"/"+kit.EventRevisionKey] = event.Revision
	}
	r.options.Recorder.AnnotatedEventf(s.item, metadata, corev1.EventTypeNormal, event.Reason, "%s", kit.Message(event.Message))
}

// reasonWarning is the reason of events about what a deployer could not do although the job succeeded.
const reasonWarning = "DeployedWithWarning"

// success is the message of the Ready condition after a success.
func (s *scope) success() string {
	if s.outcome.Warning == "" {
		return "The item is deployed"
	}
	return kit.Message("The item is deployed; " + s.outcome.Warning)
}

// letGo removes the finalizer after everything is uninstalled.
func (r *reconciler) letGo(ctx context.Context, s *scope) error {
	s.job.close(true)
	defer s.job.close(false)
	err := r.fenced(ctx, s, func(item *v1alpha1.DeployItem) error { return r.release(ctx, item) })
	if err == nil {
		r.jobs.end(s.job)
		r.written.Released(s.item)
	}
	return err
}

// fail ends the job badly.
func (r *reconciler) fail(ctx context.Context, s *scope, failure *kit.Failure) error {
	failure.Err = failureOf(failure).Err
	news := false
	err := r.finish(ctx, s, func(item *v1alpha1.DeployItem, now time.Time) {
		news = recordFailure(item, failure, now)
		kit.Fail(item, failure, now)
	})
	if err == nil && news {
		r.warn(s, failure)
	}
	return stopAfter(err)
}

// finish writes the final status. An interrupt or a newer job that came first wins.
func (r *reconciler) finish(ctx context.Context, s *scope, end func(*v1alpha1.DeployItem, time.Time)) error {
	now := time.Now()
	s.keepRecords()
	s.job.close(true)
	defer s.job.close(false)
	err := r.fenced(ctx, s, func(item *v1alpha1.DeployItem) error {
		recordOutcome(item, r.closed(item, s.outcome))
		s.job.plan.takeBack(item)
		end(item, now)
		return r.updateStatus(ctx, item)
	})
	if err == nil {
		r.jobs.end(s.job)
		r.jobs.drop(s.job.key)
	}
	return err
}

// keepRecords makes what an earlier call recorded part of the outcome when the last call recorded nothing.
func (s *scope) keepRecords() {
	if s.outcome.ProviderStatus == nil {
		s.outcome.ProviderStatus = s.job.outcome.ProviderStatus
	}
	if s.outcome.Sources == nil {
		s.outcome.Sources = s.job.outcome.Sources
	}
}

// recordOutcome puts what the deployer recorded into the status. What says the same stays as the API server has formatted it, so that a
// comparison of the whole status finds no change.
func recordOutcome(item *v1alpha1.DeployItem, outcome Outcome) {
	recorded, has := outcome.ProviderStatus, item.Status.ProviderStatus
	if recorded != nil && (has == nil || !kit.SameRawJSON(recorded.Raw, has.Raw)) {
		item.Status.ProviderStatus = recorded
	}
	recordSources(item, outcome.Sources)
	for i := range outcome.Conditions {
		conditions.Set(item, outcome.Conditions[i].DeepCopy())
	}
}

// wait leaves the job until something it watches changes.
func (r *reconciler) wait(ctx context.Context, s *scope, message string) error {
	if message == "" {
		message = "Waiting for the deployer"
	}
	s.job.attempts, s.job.cause, s.job.failure = 0, message, nil
	return r.suspend(ctx, s)
}

// retry leaves the job for the time of the back-off.
func (r *reconciler) retry(ctx context.Context, s *scope, failure *kit.Failure) error {
	s.job.retryAt = time.Now().Add(r.options.backoff(s.job.attempts))
	s.job.attempts++
	s.job.cause, s.job.failure, s.job.quiet = failure.Error(), failure, isSilent(s.err)
	return r.suspend(ctx, s)
}

// isSilent reports whether an error is about the way to an API server. What a deployer has explained itself is not, whatever its cause.
func isSilent(err error) bool {
	var explained *kit.Failure
	return kit.IsTransient(err) && !errors.As(err, &explained)
}

func (r *reconciler) suspend(ctx context.Context, s *scope) error {
	s.keepRecords()
	s.job.outcome = s.outcome
	r.watches.follow(s.job, s.outcome.Watch, s.called)
	if s.job.hasEnded() {
		r.watches.release(s.job)
		return errLost
	}
	return r.show(ctx, s)
}

// show writes what the job does, but only when it takes so long that somebody may look, or when there is a new error.
func (r *reconciler) show(ctx context.Context, s *scope) error {
	now := time.Now()
	s.requeue = s.nextLook(now)
	if now.Before(s.job.began.Add(visibleAfter)) && !s.hasNews() {
		return nil
	}
	before, news := s.item.Status.DeepCopy(), false
	if news = s.progress(s.item, now); equality.Semantic.DeepEqual(before, &s.item.Status) {
		return nil
	}
	err := r.fenced(ctx, s, func(item *v1alpha1.DeployItem) error {
		s.progress(item, now)
		return r.updateStatus(ctx, item)
	})
	if err == nil && news {
		r.warn(s, s.job.failure)
	}
	return err
}

// hasNews reports whether the last call failed with a message that the status does not show yet. Errors about the way to an API server
// count only once they last.
func (s *scope) hasNews() bool {
	if s.job.failure == nil || s.job.quiet {
		return false
	}
	shown := s.item.Status.LastError
	return shown == nil || shown.Message != s.job.failure.Error()
}

// progress writes the intermediate state of the job into the status and returns whether an error in it is new.
func (s *scope) progress(item *v1alpha1.DeployItem, now time.Time) bool {
	recordOutcome(item, s.job.outcome)
	if failure := s.job.failure; failure != nil {
		conditions.MarkReconciling(item, meta.ProgressingWithRetryReason, "%s", failure.Error())
		conditions.MarkFalse(item, meta.ReadyCondition, failure.Reason, "%s", failure.Error())
		return recordFailure(item, failure, now)
	}
	item.Status.LastError = nil
	kit.Progress(item, meta.ProgressingReason, s.job.cause)
	return false
}

func (r *reconciler) warn(s *scope, failure *kit.Failure) {
	r.options.Recorder.Event(s.item, corev1.EventTypeWarning, failure.Reason, failure.Error())
}
