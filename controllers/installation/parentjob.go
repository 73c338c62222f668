// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// parent returns the Installation that owns a nested one, nil when there is none (any more). Whoever made the nested Installation see a job
// had the parent's status written before, and the cache shows writes to Installations in their order.
func (r *Reconciler) parent(ctx context.Context, inst *v1alpha1.Installation) (*v1alpha1.Installation, error) {
	owner := metav1.GetControllerOf(inst)
	if inst.IsRoot() || owner == nil {
		return nil, nil
	}
	parent := &v1alpha1.Installation{}
	err := r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, parent)
	if apierrors.IsNotFound(err) || err == nil && parent.UID != owner.UID {
		return nil, nil
	}
	return parent, err
}

// jobFromParent returns the job that the parent wrote the annotation of a nested Installation for, when the nested one has not had it. A job
// that the parent is not at, or has not ended last, asks for nothing: it belongs to the past.
func jobFromParent(inst, parent *v1alpha1.Installation) string {
	job := inst.Annotations[v1alpha1.JobAnnotation]
	if parent == nil || job == "" || job != parent.Status.JobID || had(inst, job) {
		return ""
	}
	return job
}

// leavesJobMessage says why a sub-installation that is being deleted fails its parent, and what to do.
const leavesJobMessage = "it is being deleted and cannot end the job; the next job deletes it whoever imports from it and makes it anew: " +
	"annotate the root " + v1alpha1.OperationAnnotation + "=reconcile"

// leavesJob reports whether a sub-installation can never end a job of its parent, because it is being deleted: its deletion is another job.
func leavesJob(child *v1alpha1.Installation, job string) bool {
	return !child.DeletionTimestamp.IsZero() && child.Status.JobIDFinished != job
}

// had reports whether a job is the last that an Installation began or ended.
func had(inst *v1alpha1.Installation, job string) bool {
	return inst.Status.JobID == job || inst.Status.JobIDFinished == job
}
