// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// OperationInGitCondition is True while Flux keeps an operation annotation on an Installation. Its message names the cure.
const OperationInGitCondition = "OperationInGit"

const (
	reasonLoopGuard  = "LoopGuard"
	loopGuardMessage = "the annotation " + v1alpha1.OperationAnnotation + " is kept in Git, so it would start a job at every sync; " +
		"it only starts one when the spec or a source changed. Replace it in Git by " + v1alpha1.ReconcileIfChangedAnnotation +
		": \"true\"; to start a job by hand set " + meta.ReconcileRequestAnnotation
)

// acknowledgeOperation consumes the operation annotation of an idle Installation. A person's "reconcile" becomes a
// reconcile request in the same write that removes it, so that no crash can lose or repeat it. One that Flux owns is left alone,
// because Flux would put it back at every sync.
func (r *Reconciler) acknowledgeOperation(ctx context.Context, s *scope) error {
	operation := s.inst.Annotations[v1alpha1.OperationAnnotation]
	if operation == "" {
		conditions.Delete(s.inst, OperationInGitCondition)
		return nil
	}
	owned, err := r.ownedByFlux(ctx, s.inst)
	if err != nil {
		return err
	}
	if owned {
		r.guardLoop(s)
		return nil
	}
	change := kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}
	if operation == v1alpha1.OperationReconcile && s.inst.IsRoot() {
		token := requestToken(s.now)
		if s.inst.Annotations[v1alpha1.ReconcileReasonAnnotation] == v1alpha1.ReconcileReasonRetry {
			token += retryMark
		}
		change.AddFinalizer = v1alpha1.Finalizer
		change.Annotations[meta.ReconcileRequestAnnotation] = &token
		if s.inst.Annotations[v1alpha1.ReconcileReasonAnnotation] != "" {
			change.Annotations[v1alpha1.ReconcileReasonAnnotation] = nil
		}
	}
	return r.patchMetadata(ctx, s, change)
}

// guardLoop shows the loop guard, with one event when it begins.
func (r *Reconciler) guardLoop(s *scope) {
	if !conditions.Has(s.inst, OperationInGitCondition) {
		r.Recorder.Event(s.inst, corev1.EventTypeWarning, reasonLoopGuard, loopGuardMessage)
	}
	conditions.MarkTrue(s.inst, OperationInGitCondition, reasonLoopGuard, "%s", loopGuardMessage)
}

// ownedByFlux reads live, because caches hold no managed fields, whether Flux applies the operation annotation.
func (r *Reconciler) ownedByFlux(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(inst), live); err != nil {
		return false, err
	}
	for _, entry := range live.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply && isFluxManager(entry.Manager) && entry.FieldsV1 != nil &&
			strings.Contains(entry.FieldsV1.GetRawString(), "\"f:"+v1alpha1.OperationAnnotation+"\"") {
			return true, nil
		}
	}
	return false, nil
}

func isFluxManager(manager string) bool {
	return manager == "kustomize-controller" || manager == "helm-controller" || strings.HasPrefix(manager, "flux")
}

// interrupt ends a running job: its children are told, and a job that has no children yet fails here.
func (r *Reconciler) interrupt(ctx context.Context, s *scope) error {
	if s.inst.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt || s.inst.Status.IsIdle() && !s.takePending() {
		return nil
	}
	if err := r.interruptChildren(ctx, s); err != nil {
		return err
	}
	if s.inst.DeletionTimestamp.IsZero() && !s.applied() || s.execution == nil && len(s.children) == 0 {
		s.fail(interrupted())
		return kit.ErrStop
	}
	return r.patchMetadata(ctx, s, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
}

// takePending begins the job that the parent has asked for, so that an interruption can end it.
func (s *scope) takePending() bool {
	if s.inst.IsRoot() || nestedTrigger(s.inst) == "" {
		return false
	}
	s.start(newJobID(s.inst), nestedTrigger(s.inst))
	return true
}

// interruptChildren passes the operation on to the children that run the same job.
func (r *Reconciler) interruptChildren(ctx context.Context, s *scope) error {
	value := v1alpha1.OperationInterrupt
	change := kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: &value}}
	for _, name := range sortedKeys(s.children) {
		child := s.children[name]
		if child.Status.JobIDFinished == s.inst.Status.JobID {
			continue
		}
		if err := kit.PatchMetadata(ctx, r.Client, child, change); err != nil {
			return err
		}
		r.installations.Wrote(child)
	}
	if s.execution == nil || s.execution.Status.JobIDFinished == s.inst.Status.JobID {
		return nil
	}
	if err := kit.PatchMetadata(ctx, r.Client, s.execution, change); err != nil {
		return err
	}
	r.executions.Wrote(s.execution)
	return nil
}

func interrupted() *kit.Failure {
	return &kit.Failure{
		Kind: kit.Stalled, Operation: "InterruptOperation", Reason: "InterruptOperation", Err: errInterrupted,
	}
}

func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) error {
	return r.patchMetadata(ctx, s, kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
}

// patchMetadata writes metadata and keeps the status that this reconciliation has prepared.
func (r *Reconciler) patchMetadata(ctx context.Context, s *scope, change kit.MetadataChange) error {
	return kit.PatchMetadataOnly(ctx, r.Client, s.inst, &s.inst.Status, change, &r.installations)
}
