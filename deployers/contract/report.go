// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// report turns the answer of the deployer into the end of the job or into what it waits for.
func (r *reconciler) report(ctx context.Context, s *scope) error {
	if s.err == nil && s.outcome.Done {
		return r.succeed(ctx, s)
	}
	if s.err == nil {
		return r.wait(ctx, s, protocol.ReasonWaiting, s.outcome.Waiting)
	}
	failure := failureOf(s.err)
	late := isCheckpoint(s.err) || s.isLate(time.Now())
	switch {
	case late && (failure.Kind != protocol.Stalled || isCheckpoint(s.err)):
		return r.fail(ctx, s, s.timeout(s.err))
	case failure.Kind == protocol.Stalled:
		return r.fail(ctx, s, failure)
	case failure.Kind == protocol.Waiting:
		return r.wait(ctx, s, failure.Reason, failure.Error())
	}
	return r.retry(ctx, s, failure)
}

// succeed ends the job well: exports first, so that whoever sees the final phase finds them.
func (r *reconciler) succeed(ctx context.Context, s *scope) error {
	if s.deleting() {
		return r.letGo(ctx, s)
	}
	reference, err := r.publish(ctx, s.item, s.outcome.Exports)
	if err != nil {
		s.err = err
		return r.report(ctx, s)
	}
	err = r.finish(ctx, s, func(item *v1alpha1.DeployItem, now time.Time) {
		item.Status.ExportReference = reference
		conditions.Delete(item, v1alpha1.RecordLostCondition) // what is deployed is on record again
		message := "The item is deployed"
		if s.outcome.Warning != "" {
			message = protocol.Message(message + "; " + s.outcome.Warning)
		}
		protocol.Succeed(item, message, now)
	})
	if err != nil {
		return err
	}
	if event := s.outcome.Event; event != nil {
		metadata := notify.Once(s.item.Status.JobID)
		if event.Revision != "" {
			metadata[v1alpha1.GroupName+"/"+notify.RevisionKey] = event.Revision
		}
		r.options.Recorder.AnnotatedEventf(s.item, metadata, corev1.EventTypeNormal, event.Reason, "%s", protocol.Message(event.Message))
	}
	r.warnOf(s)
	return nil
}

// warnOf posts the event about what the deployer could not do.
func (r *reconciler) warnOf(s *scope) {
	if s.outcome.Warning != "" {
		r.warn(s, reasonWarning, s.outcome.Warning)
	}
}

// reasonWarning is the reason of events about what a deployer could not do although the job, or the deletion, succeeded.
const reasonWarning = "DeployedWithWarning"

// letGo removes the finalizer after everything is uninstalled.
func (r *reconciler) letGo(ctx context.Context, s *scope) error {
	err := r.fenced(ctx, s, func(item *v1alpha1.DeployItem) error { return r.release(ctx, item) })
	if err == nil {
		s.log(ctx, "Deleted", "")
		r.jobs.End(s.job)
		r.written.Released(s.item)
		r.warnOf(s)
	}
	return err
}

// log writes the line that each job leaves.
func (s *scope) log(ctx context.Context, result, reason string) {
	revision := ""
	if sources := s.item.Status.Sources; len(sources) > 0 {
		revision = sources[0].Revision
	}
	ctrl.LoggerFrom(ctx).Info("job ended", "execution", s.item.Labels[v1alpha1.ExecutionManagedByLabel], "job", s.job.ID, "revision", revision,
		"duration", time.Since(s.job.Began).Round(100*time.Millisecond).String(), "result", result, "reason", reason)
}

// fail ends the job badly.
func (r *reconciler) fail(ctx context.Context, s *scope, failure *protocol.Failure) error {
	failure.Err = failureOf(failure).Err
	if s.deleting() && slices.Contains(failure.Codes, v1alpha1.ErrorTimeout) {
		r.waiters.await(s.item, s.job.Watched, time.Now())
	}
	news := false
	err := r.finish(ctx, s, func(item *v1alpha1.DeployItem, now time.Time) {
		news = recordFailure(item, failure, now)
		protocol.Fail(item, failure, now)
	})
	if err == nil && news {
		r.warn(s, failure.Reason, failure.Error())
	}
	return stopAfter(err)
}

// finish writes the final status. An interrupt or a newer job that came first wins.
func (r *reconciler) finish(ctx context.Context, s *scope, end func(*v1alpha1.DeployItem, time.Time)) error {
	now := time.Now()
	records := s.records()
	err := r.update(ctx, s, func(item *v1alpha1.DeployItem) {
		ended := records
		if r.planner != nil && ended.ProviderStatus != nil {
			ended.ProviderStatus = r.planner.Close(item, ended.ProviderStatus)
		}
		ended.Write(item)
		s.job.Plan.TakeBack(item)
		end(item, now)
	})
	if err == nil {
		s.log(ctx, string(s.item.Status.Phase), conditions.GetReason(s.item, meta.ReadyCondition))
		r.jobs.End(s.job)
		r.jobs.Drop(s.job.Key)
	}
	return err
}

// records returns what the outcome leaves in the status, with what an earlier call of the job has left.
func (s *scope) records() records {
	last := records{ProviderStatus: s.outcome.ProviderStatus, Sources: s.outcome.Sources, Conditions: s.outcome.Conditions}
	return last.After(s.job.Records)
}

// wait leaves the job until something it watches changes.
func (r *reconciler) wait(ctx context.Context, s *scope, reason, message string) error {
	if message == "" {
		message = "Waiting for the deployer"
	}
	s.job.Attempts, s.job.Waits, s.job.Cause, s.job.Failure = 0, reason, foreign.Beginning(message, protocol.MaxMessage), nil
	return r.suspend(ctx, s)
}

// retry leaves the job for the time of the back-off.
func (r *reconciler) retry(ctx context.Context, s *scope, failure *protocol.Failure) error {
	s.job.RetryAt = time.Now().Add(queue.Doubled(r.options.MinRetryDelay, r.options.MaxRetryDelay, s.job.Attempts))
	s.job.Attempts++
	// What is about the way to an API server is shown only once it lasts; what a deployer has explained itself is not, whatever its cause.
	s.job.Cause, s.job.Failure, s.job.IsQuiet = failure.Error(), failure, protocol.IsTransient(s.err) && !errors.As(s.err, new(*protocol.Failure))
	return r.suspend(ctx, s)
}

func (r *reconciler) suspend(ctx context.Context, s *scope) error {
	s.job.Records = s.records()
	s.job.Watched = s.outcome.Watch
	r.watches.Follow(s.job, s.job.Watched, s.called)
	if s.job.HasEnded() {
		r.watches.Release(s.job)
		return errLost
	}
	return r.show(ctx, s)
}

// show writes what the job does, but only when it takes so long that somebody may look, or when there is a new error.
func (r *reconciler) show(ctx context.Context, s *scope) error {
	now := time.Now()
	s.requeue = s.nextLook(now)
	if now.Before(s.job.Began.Add(visibleAfter)) && !s.hasNews() {
		return nil
	}
	before, news := s.item.Status.DeepCopy(), false
	if news = s.progress(s.item, now); equality.Semantic.DeepEqual(before, &s.item.Status) {
		return nil
	}
	err := r.update(ctx, s, func(item *v1alpha1.DeployItem) { s.progress(item, now) })
	if err == nil && news {
		r.warn(s, s.job.Failure.Reason, s.job.Failure.Error())
	}
	return err
}

// hasNews reports whether the last call failed with a message that the status does not show yet. Errors about the way to an API server
// count only once they last.
func (s *scope) hasNews() bool {
	if s.job.Failure == nil || s.job.IsQuiet {
		return false
	}
	shown := s.item.Status.LastError
	return shown == nil || shown.Message != s.job.Failure.Error()
}

// progress writes the intermediate state of the job into the status and returns whether an error in it is new.
func (s *scope) progress(item *v1alpha1.DeployItem, now time.Time) bool {
	s.job.Records.Write(item)
	if failure := s.job.Failure; failure != nil {
		conditions.MarkReconciling(item, meta.ProgressingWithRetryReason, "%s", failure.Error())
		conditions.MarkFalse(item, meta.ReadyCondition, failure.Reason, "%s", failure.Error())
		return recordFailure(item, failure, now)
	}
	item.Status.LastError = nil
	protocol.Progress(item, cmp.Or(s.job.Waits, meta.ProgressingReason), s.job.Cause)
	return false
}

// warn posts a Warning about the job. Its token tells receivers of notifications that it is another one than that of the job before.
func (r *reconciler) warn(s *scope, reason, message string) {
	r.options.Recorder.AnnotatedEventf(s.item, notify.Once(s.item.Status.JobID), corev1.EventTypeWarning, reason, "%s", protocol.Message(message))
}

// maxConflicts is how often a write is repeated because only metadata changed meanwhile.
const maxConflicts = 10

// errLost says that the job was ended or replaced by somebody else, so that its result is worth nothing.
var errLost = errors.New("the job is over")

// writeStatus writes the status if nobody changed the item since it was read, and returns a conflict otherwise.
func (r *reconciler) writeStatus(ctx context.Context, item *v1alpha1.DeployItem) error {
	return protocol.WriteItemStatus(ctx, r.client, item, time.Now(), &r.written)
}

// writeMetadata changes the metadata of an item as it was read.
func (r *reconciler) writeMetadata(ctx context.Context, item *v1alpha1.DeployItem, change protocol.MetadataChange) error {
	before := item.ResourceVersion
	if err := protocol.PatchMetadata(ctx, r.client, item, change); err != nil {
		return err
	}
	if item.ResourceVersion != before {
		r.written.Wrote(item)
	}
	return nil
}

// release removes the finalizer.
func (r *reconciler) release(ctx context.Context, item *v1alpha1.DeployItem) error {
	if err := r.writeMetadata(ctx, item, protocol.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	r.options.Metrics.RecordDuration(ctx, item, time.Now()) // for an item that goes it removes what was recorded
	return nil
}

// update changes the status of the item of a pass and writes it, see fenced.
func (r *reconciler) update(ctx context.Context, s *scope, change func(*v1alpha1.DeployItem)) error {
	return r.fenced(ctx, s, func(item *v1alpha1.DeployItem) error {
		change(item)
		return r.writeStatus(ctx, item)
	})
}

// fenced repeats a write of the job on conflicts with a live copy of the item, which takes its place, as long as the item still runs this job. Else it
// returns errLost: a result never overwrites an interrupt or a newer job.
func (r *reconciler) fenced(ctx context.Context, s *scope, write func(*v1alpha1.DeployItem) error) error {
	for range maxConflicts {
		err := write(s.item)
		if !apierrors.IsConflict(err) {
			return goneIsLost(err)
		}
		current := &v1alpha1.DeployItem{}
		if err := r.live.Get(ctx, s.key(), current); err != nil {
			return goneIsLost(err)
		}
		if s.job.IsOverIn(current) {
			return errLost
		}
		s.item = current
	}
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), s.item.Name, errors.New("the item keeps changing"))
}

func goneIsLost(err error) error {
	if apierrors.IsNotFound(err) {
		return errLost
	}
	return err
}
