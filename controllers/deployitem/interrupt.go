// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"

	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// interrupt ends the job of an item without an Execution in place of its deployer, as the protocol says, and only then forgets the operation: whoever
// waits until no operation is left and the job has ended never sees the result of another job. An operation that Flux keeps stays, because Flux would put
// it back at every sync; the status says so as long as it is there. One that has left Git and that somebody has set by hand since, also while nobody
// looked, is another one.
func (r *Reconciler) interrupt(ctx context.Context, item *v1alpha1.DeployItem) error {
	switch isAsked := item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt; {
	case item.Annotations[v1alpha1.IgnoreAnnotation] == "true":
		return nil
	case !isAsked && protocol.IsInterruptKnown(item):
		conditions.Delete(item, protocol.OperationInGitCondition)
		return protocol.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items)
	case !isAsked || protocol.ControllerOf(item, "Execution") != nil:
		return nil
	}
	isKept, err := protocol.IsAppliedByFlux(ctx, r.Live, item, "DeployItem", v1alpha1.OperationAnnotation)
	if err != nil || isKept && protocol.IsInterruptKnown(item) {
		return err
	}
	if err := r.end(ctx, item, isKept); err != nil || isKept {
		return err
	}
	before := item.ResourceVersion
	err = protocol.PatchMetadata(ctx, r.Client, item, protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
	if err == nil && item.ResourceVersion != before {
		r.items.Wrote(item)
	}
	return err
}

// end writes that the running job was interrupted, and that the operation is kept in Git.
func (r *Reconciler) end(ctx context.Context, item *v1alpha1.DeployItem, isKept bool) error {
	runs := !item.Status.IsIdle()
	if !runs && !isKept {
		return nil
	}
	failure := protocol.Interrupted()
	if runs {
		protocol.Fail(item, failure, r.Now())
	}
	if protocol.IsInterruptKnown(item) {
		conditions.Delete(item, protocol.OperationInGitCondition)
	}
	if isKept {
		conditions.MarkTrue(item, protocol.OperationInGitCondition, protocol.ReasonInterruptInGit, "%s", protocol.InterruptInGitMessage)
	}
	if err := protocol.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items); err != nil {
		return err
	}
	if runs {
		r.Recorder.AnnotatedEventf(item, notify.Once(item.Status.JobID), corev1.EventTypeWarning, failure.Reason, "%s", failure.Error())
	}
	if isKept {
		r.Recorder.Event(item, corev1.EventTypeWarning, protocol.ReasonInterruptInGit, protocol.InterruptInGitMessage)
	}
	return nil
}
