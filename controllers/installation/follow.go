// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Following says whether changes start the jobs of Installations that do not say so themselves.
type Following struct {
	// ByDefault holds where neither Context nor namespace says it.
	ByDefault bool
	// Spread is the time over which what has waited is started when the default is switched on.
	Spread time.Duration
	// Namespaces says that the process watches the labels of namespaces.
	Namespaces bool
}

// follow finds out whether changes start the jobs of a root by default. Where that is new, what has waited until now does not start at once: an event names it,
// and each Installation has its own instant within the spread.
func (r *Reconciler) follow(ctx context.Context, s *reconciliation) error {
	inst := s.Inst
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
		if due := r.Following.startOf(inst, shown.LastTransitionTime.Time); due.After(s.Now) {
			s.Wake(due.Sub(s.Now))
			return nil
		}
		jobs.Follow(inst, by)
	case shown == nil && !inst.Spec.Suspend && !(isNew && conditions.GetReason(inst, meta.ReadyCondition) != kit.ReasonNotTriggered):
		return r.beginToFollow(ctx, s, by)
	default:
		jobs.Follow(inst, by)
	}
	return nil
}

// beginToFollow names what has waited, and leaves it until its instant comes.
func (r *Reconciler) beginToFollow(ctx context.Context, s *reconciliation, by string) error {
	jobs.Follow(s.Inst, by)
	for _, cause := range jobs.ChangesOf(s.Inst) {
		reason, err := r.asks(ctx, s, cause)
		if err != nil {
			conditions.Delete(s.Inst, jobs.FollowsChangesCondition)
			return err
		}
		if reason == "" {
			continue
		}
		since := metav1.NewTime(s.Now.UTC().Truncate(time.Second))
		due := r.Following.startOf(s.Inst, since.Time)
		message := fmt.Sprintf("%s: a job starts at %s, because changes start jobs by default now (%s), and those that have waited start over %s; annotate %s=false to let it wait",
			reason, due.Format(time.RFC3339), by, r.Following.Spread, v1alpha1.ReconcileIfChangedAnnotation)
		r.Recorder.Event(s.Inst, corev1.EventTypeNormal, jobs.ReasonChangesScheduled, message)
		conditions.Delete(s.Inst, jobs.FollowsChangesCondition)
		conditions.Set(s.Inst, &metav1.Condition{
			Type: jobs.FollowsChangesCondition, Status: metav1.ConditionFalse, Reason: jobs.ReasonChangesScheduled, Message: message, LastTransitionTime: since,
		})
		s.Wake(due.Sub(s.Now))
		return nil
	}
	return nil
}

// startOf is the instant of an Installation within the spread, the same whenever it is computed.
func (f Following) startOf(inst *v1alpha1.Installation, since time.Time) time.Time {
	return since.Add(kit.Share(f.Spread, string(inst.UID))).UTC().Truncate(time.Second)
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
		return "--reconcile-if-changed of the controller", false, nil
	}
	return "", undecided, nil
}
