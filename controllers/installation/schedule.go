// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// Intervals of spec.automaticReconcile that are not given.
const (
	defaultSucceededInterval = 24 * time.Hour
	defaultFailedInterval    = 5 * time.Minute
)

// shortestInterval is the least time between two jobs: one nanosecond would start the next with the end of the last, for ever.
const shortestInterval = 10 * time.Second

// dueByClock reports whether spec.automaticReconcile starts a job now, and otherwise asks to be woken at the instant when it does.
func (s *scope) dueByClock() bool {
	due, ok := s.nextAutomatic()
	if !ok {
		return false
	}
	if due.After(s.now) {
		s.wake(due.Sub(s.now))
		return false
	}
	s.automatic = true
	return true
}

// nextAutomatic returns when the clock starts the next job of an idle root; false when it starts none.
func (s *scope) nextAutomatic() (time.Time, bool) {
	inst := s.inst
	config := inst.Spec.AutomaticReconcile
	times := inst.Status.TransitionTimes
	if config == nil || inst.Spec.Suspend || !inst.IsRoot() || times == nil || times.FinishedTime == nil ||
		inst.Status.ObservedGeneration != inst.Generation {
		return time.Time{}, false
	}
	finished := times.FinishedTime.Time
	if protocol.IsAhead(finished, s.now) {
		finished = time.Time{}
	}
	switch {
	case inst.Status.Phase == v1alpha1.PhaseSucceeded && config.SucceededReconcile != nil:
		return s.nextInstant(finished, config.SucceededReconcile.CronSpec, config.SucceededReconcile.Interval, defaultSucceededInterval)
	case inst.Status.Phase.IsFailed() && config.FailedReconcile != nil:
		return s.nextRetry(config.FailedReconcile, finished)
	}
	return time.Time{}, false
}

// nextRetry returns when a failed job is tried again: at once after the first failure, then by the interval, as often as allowed.
func (s *scope) nextRetry(config *v1alpha1.FailedReconcile, finished time.Time) (time.Time, bool) {
	counter := s.inst.Status.AutomaticReconcileStatus
	counted := int32(0)
	if counter != nil && counter.OnFailed && counter.Generation == s.inst.Generation {
		counted = counter.NumberOfReconciles
	}
	if limit := config.NumberOfReconciles; limit != nil && counted >= *limit {
		return time.Time{}, false
	}
	if counted == 0 {
		return finished, true
	}
	return s.nextInstant(finished, config.CronSpec, config.Interval, defaultFailedInterval)
}

// nextInstant returns the instant after a moment that a schedule or an interval names. "none" is no interval at all; a schedule that
// cannot be read was refused with the spec. A schedule is exact; intervals are spread, the same way whenever they are computed for a job.
func (s *scope) nextInstant(from time.Time, expression string, interval *v1alpha1.Duration, standard time.Duration) (time.Time, bool) {
	if expression != "" {
		parsed, err := managedresource.ParseSchedule(expression)
		if err != nil {
			return time.Time{}, false
		}
		return parsed.Next(from)
	}
	seed := string(s.inst.UID) + "/" + s.inst.Status.JobIDFinished
	if interval == nil {
		return from.Add(s.jitter.Spread(standard, seed)), true
	}
	return from.Add(max(s.jitter.Spread(interval.Duration, seed), shortestInterval)), interval.Duration > 0
}

// clockReason says why the clock starts a job.
func (s *scope) clockReason() string {
	if s.inst.Status.Phase.IsFailed() {
		return "automatic retry after a failure"
	}
	return "automatic reconciliation"
}

// countAutomatic counts a job that the clock starts, or that says of itself that it is a retry. Every other job begins from zero.
func (s *scope) countAutomatic() {
	status := &s.inst.Status
	isRetry := s.asked && s.inst.Annotations[v1alpha1.ReconcileReasonAnnotation] == v1alpha1.ReconcileReasonRetry
	if !s.automatic && !isRetry {
		status.AutomaticReconcileStatus = nil
		return
	}
	failed, counted := status.Phase.IsFailed(), int32(0)
	if last := status.AutomaticReconcileStatus; last != nil && last.OnFailed == failed {
		counted = last.NumberOfReconciles
	}
	status.AutomaticReconcileStatus = &v1alpha1.AutomaticReconcileStatus{
		Generation: s.inst.Generation, NumberOfReconciles: counted + 1, LastReconcileTime: metav1.NewTime(s.now), OnFailed: failed,
	}
}

// forgetCounter drops a counter of the other kind than what just happened.
func (s *scope) forgetCounter(failed bool) {
	if counter := s.inst.Status.AutomaticReconcileStatus; counter != nil && counter.OnFailed != failed {
		s.inst.Status.AutomaticReconcileStatus = nil
	}
}

// announceRetry shows a failure that the clock will try again as work in progress: nobody has to act yet.
func (s *scope) announceRetry(failure *protocol.Failure) {
	s.forgetCounter(true)
	due, ok := s.nextAutomatic()
	if !ok {
		return
	}
	message := fmt.Sprintf("tried again at %s: %s", due.UTC().Format(time.RFC3339), failure.Error())
	conditions.Delete(s.inst, meta.StalledCondition)
	conditions.MarkReconciling(s.inst, meta.ProgressingWithRetryReason, "%s", message)
	conditions.MarkFalse(s.inst, meta.ReadyCondition, failure.Reason, "%s", message)
}

// Following says whether changes start the jobs of Installations that do not say so themselves.
type Following struct {
	// ByDefault holds where neither Context nor namespace says it.
	ByDefault bool
	// Spread is the time over which what has waited is started when the default is switched on.
	Spread time.Duration
	// Namespaces says that the process watches the labels of namespaces.
	Namespaces bool
}

// byFlag names the operator's default.
const byFlag = "--reconcile-if-changed of the controller"

// FollowingOf tells the operator's default by Installations that show it. Who copies their cluster knows no flag of its controller.
func FollowingOf(installations []v1alpha1.Installation) Following {
	shows := func(inst v1alpha1.Installation) bool {
		return strings.Contains(conditions.GetMessage(&inst, jobs.FollowsChangesCondition), byFlag)
	}
	return Following{ByDefault: slices.ContainsFunc(installations, shows)}
}

// follow finds out whether changes start the jobs of a root by default. Where that is new, what has waited until now does not start at once: an event names it,
// and each Installation has its own instant within the spread.
func (r *Reconciler) follow(ctx context.Context, s *scope) error {
	inst := s.inst
	if !jobs.TakesDefault(inst) {
		conditions.Delete(inst, jobs.FollowsChangesCondition)
		return nil
	}
	by, undecided, err := r.Following.by(ctx, r, inst)
	if err != nil {
		return err
	}
	shown, isNew := conditions.Get(inst, jobs.FollowsChangesCondition), inst.Status.JobID == ""
	switch {
	case by == "" && undecided && isNew:
		conditions.MarkUnknown(inst, jobs.FollowsChangesCondition, jobs.ReasonContextIncomplete, "Context %s is not there yet", inst.ContextName())
	case by == "":
		conditions.Delete(inst, jobs.FollowsChangesCondition)
	case shown != nil && shown.Status == metav1.ConditionFalse && !inst.Spec.Suspend:
		if due := r.Following.startOf(inst, shown.LastTransitionTime.Time); due.After(s.now) {
			s.wake(due.Sub(s.now))
			return nil
		}
		jobs.Follow(inst, by)
	case shown == nil && !inst.Spec.Suspend && !(isNew && conditions.GetReason(inst, meta.ReadyCondition) != protocol.ReasonNotTriggered):
		return r.beginToFollow(ctx, s, by)
	default:
		jobs.Follow(inst, by)
	}
	return nil
}

// beginToFollow names what has waited, and leaves it until its instant comes.
func (r *Reconciler) beginToFollow(ctx context.Context, s *scope, by string) error {
	jobs.Follow(s.inst, by)
	for _, cause := range jobs.ChangesOf(s.inst) {
		reason, err := r.asks(ctx, s, cause)
		if err != nil {
			conditions.Delete(s.inst, jobs.FollowsChangesCondition)
			return err
		}
		if reason == "" {
			continue
		}
		since := metav1.NewTime(s.now.UTC().Truncate(time.Second))
		due := r.Following.startOf(s.inst, since.Time)
		message := fmt.Sprintf("%s: a job starts at %s, because changes start jobs by default now (%s), and those that have waited start over %s; annotate %s=false to let it wait",
			reason, due.Format(time.RFC3339), by, r.Following.Spread, v1alpha1.ReconcileIfChangedAnnotation)
		r.Recorder.Event(s.inst, corev1.EventTypeNormal, jobs.ReasonChangesScheduled, message)
		conditions.Delete(s.inst, jobs.FollowsChangesCondition)
		conditions.Set(s.inst, &metav1.Condition{
			Type: jobs.FollowsChangesCondition, Status: metav1.ConditionFalse, Reason: jobs.ReasonChangesScheduled, Message: message, LastTransitionTime: since,
		})
		s.wake(due.Sub(s.now))
		return nil
	}
	return nil
}

// startOf is the instant of an Installation within the spread, the same whenever it is computed.
func (f Following) startOf(inst *v1alpha1.Installation, since time.Time) time.Time {
	return since.Add(queue.Share(f.Spread, string(inst.UID))).UTC().Truncate(time.Second)
}

// by says what makes changes start jobs by default; "" when nothing does. The nearest that says anything counts: the Context, the namespace,
// the operator. It is undecided while the Context or the namespace is not seen.
func (f Following) by(ctx context.Context, reader client.Reader, inst *v1alpha1.Installation) (by string, undecided bool, err error) {
	used := &v1alpha1.Context{}
	err = reader.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: inst.ContextName()}, used)
	switch {
	case apierrors.IsNotFound(err):
		undecided = true
	case err != nil:
		return "", false, err
	case used.ReconcileIfChanged != nil:
		if !*used.ReconcileIfChanged {
			return "", false, nil
		}
		return "reconcileIfChanged of Context " + used.Name, false, nil
	}
	if f.Namespaces {
		namespace := &metav1.PartialObjectMetadata{}
		namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := reader.Get(ctx, client.ObjectKey{Name: inst.Namespace}, namespace)
		if client.IgnoreNotFound(err) != nil {
			return "", false, err
		}
		undecided = undecided || err != nil
		switch namespace.Labels[v1alpha1.ReconcileIfChangedAnnotation] {
		case "true":
			return "label " + v1alpha1.ReconcileIfChangedAnnotation + " of namespace " + inst.Namespace, false, nil
		case "false":
			return "", false, nil
		}
	}
	if f.ByDefault {
		return byFlag, false, nil
	}
	return "", undecided, nil
}
