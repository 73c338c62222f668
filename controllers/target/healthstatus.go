// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/notify"
	deploytarget "github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// reasonType says that a Target is of a type that cannot be checked.
const reasonType = "TypeNotSupported"

// healthyMessage is that of a Target whose cluster answers.
const healthyMessage = "The cluster answers and accepts the credentials"

// finding is what a check has found out; without a problem the cluster is well.
type finding struct {
	health  deploytarget.Health
	problem *deploytarget.Error
	// typeProblem is why there is nothing to check.
	typeProblem string
}

// uncheckable returns what there is to show of a Target that is not checked: nothing, or that it asks for a check that there is not.
func uncheckable(target *v1alpha1.Target) *finding {
	if target.Spec.HealthCheck == nil {
		return nil
	}
	return &finding{typeProblem: fmt.Sprintf("Only Targets of type %s can be checked; remove spec.healthCheck", v1alpha1.KubernetesClusterTargetType)}
}

// show writes what was found out about a Target; nil leaves the status empty. Nothing is written where nothing but the time would change.
func (r *HealthReconciler) show(ctx context.Context, target *v1alpha1.Target, found *finding) error {
	persisted := target.Status.DeepCopy()
	if found == nil {
		target.Status = v1alpha1.TargetStatus{}
	} else {
		found.observe(target)
	}
	if equality.Semantic.DeepEqual(persisted, &target.Status) {
		return nil
	}
	if found != nil {
		target.Status.LastChecked = &metav1.Time{Time: r.Now()}
	}
	if err := r.Status().Update(ctx, target); err != nil {
		return err
	}
	r.announce(target, persisted)
	return nil
}

// announce tells when a Target becomes Ready and when it ceases to be.
func (r *HealthReconciler) announce(target *v1alpha1.Target, persisted *v1alpha1.TargetStatus) {
	ready := conditions.Get(target, meta.ReadyCondition)
	before := conditions.Get(&v1alpha1.Target{Status: *persisted}, meta.ReadyCondition)
	if ready == nil || before != nil && before.Status == ready.Status {
		return
	}
	kind := corev1.EventTypeWarning
	if ready.Status == metav1.ConditionTrue {
		kind = corev1.EventTypeNormal
	}
	r.Recorder.AnnotatedEventf(target, notify.Once(notify.Since(ready)), kind, ready.Reason, "%s", ready.Message)
}

// observe puts the finding into the status of a Target.
func (f *finding) observe(target *v1alpha1.Target) {
	status := &target.Status
	kit.KeepValidConditions(target)
	isSameSpec := status.ObservedGeneration == target.Generation
	status.ObservedGeneration = target.Generation
	if requested, ok := meta.ReconcileAnnotationValue(target.Annotations); ok {
		status.LastHandledReconcileAt = requested
	}
	status.Identity, status.Version = f.health.User, f.health.Version
	switch {
	case f.typeProblem != "":
		stall(target, reasonType, f.typeProblem)
	case f.problem == nil:
		conditions.Delete(target, meta.ReconcilingCondition)
		conditions.Delete(target, meta.StalledCondition)
		conditions.MarkTrue(target, meta.ReadyCondition, meta.SucceededReason, healthyMessage)
	case len(f.problem.Codes) > 0:
		stall(target, f.problem.Reason, kit.Message(f.problem.Error()))
	default:
		f.retry(target, isSameSpec)
	}
}

// stall shows that a person has to change the Target. Whether a cluster answers that was not asked is unknown.
func stall(target *v1alpha1.Target, reason, message string) {
	conditions.Delete(target, meta.ReconcilingCondition)
	if reason == deploytarget.ReasonNoTokens {
		conditions.Delete(target, meta.StalledCondition)
		conditions.MarkUnknown(target, meta.ReadyCondition, reason, "%s", message)
		return
	}
	conditions.MarkStalled(target, reason, "%s", message)
	conditions.MarkFalse(target, meta.ReadyCondition, reason, "%s", message)
}

// retry shows that the next check may go well. The words of one reason stay while the spec does: those of networks and of servers may differ
// each time.
func (f *finding) retry(target *v1alpha1.Target, isSameSpec bool) {
	message := kit.Message(f.problem.Error())
	if shown := conditions.Get(target, meta.ReadyCondition); isSameSpec && shown != nil && shown.Reason == f.problem.Reason {
		message = shown.Message
	}
	conditions.Delete(target, meta.StalledCondition)
	conditions.MarkReconciling(target, meta.ProgressingWithRetryReason, "%s", message)
	conditions.MarkFalse(target, meta.ReadyCondition, f.problem.Reason, "%s", message)
}
