// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package writing

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const finalizerRestoredMessage = "the finalizer " + v1alpha1.Finalizer + " was removed and is back: without it a deletion would not wait for what is installed. " +
	"To leave it there annotate " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true"

// PatchMetadata writes metadata and keeps the status that this reconciliation has prepared.
func (w *Writer) PatchMetadata(ctx context.Context, d *Draft, change kit.MetadataChange) error {
	err := kit.PatchMetadataOnly(ctx, w.Client, d.Inst, &d.Inst.Status, change, w.Written)
	if apierrors.IsConflict(err) {
		err = w.metadataBeside(ctx, d, err, change)
	}
	if apierrors.IsNotFound(err) {
		return kit.ErrStop
	}
	return err
}

// Mend removes the operation annotation that has started a job, after status said so: whoever waits for the end of the job sees
// either the annotation or the new job. It puts the finalizer back where a client has removed it while there is something to clean up, more and
// more rarely while that repeats. It writes nothing where nothing is amiss.
func (w *Writer) Mend(ctx context.Context, d *Draft) error {
	if !d.lacksFinalizer() {
		return w.PatchMetadata(ctx, d, d.answer(kit.MetadataChange{}))
	}
	key := client.ObjectKeyFromObject(d.Inst).String()
	if w.Restored.IsInBackOffSinceUpdate(key, d.Now) {
		d.Wake(w.Restored.Get(key))
		return w.PatchMetadata(ctx, d, d.answer(kit.MetadataChange{}))
	}
	if err := w.PatchMetadata(ctx, d, d.answer(kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer})); err != nil {
		return err
	}
	w.Restored.Next(key, d.Now)
	w.Recorder.Event(d.Inst, corev1.EventTypeWarning, kit.ReasonFinalizerRestored, finalizerRestoredMessage)
	return nil
}

// lacksFinalizer reports whether an Installation with something to clean up is without the finalizer that its deletion waits for.
func (d *Draft) lacksFinalizer() bool {
	return d.Inst.DeletionTimestamp.IsZero() && (d.Inst.Status.ExecutionReference != nil || d.Inst.Status.SubInstCache != nil) &&
		!slices.Contains(d.Inst.Finalizers, v1alpha1.Finalizer)
}

// answer adds to a change of metadata what forgets the operation that has started a job.
func (d *Draft) answer(change kit.MetadataChange) kit.MetadataChange {
	if !jobs.OperationAnswered(d.Inst) {
		return change
	}
	change.Annotations = map[string]*string{v1alpha1.JobAnnotation: &d.Inst.Status.OperationJobID, v1alpha1.ReconcileReasonAnnotation: nil}
	if d.Inst.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationReconcile {
		change.Annotations[v1alpha1.OperationAnnotation] = nil
	}
	return change
}
