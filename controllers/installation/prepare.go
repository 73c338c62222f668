// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// prepare gives all children the specs of the running job, unless they have them. It ends a job that would give them specs of two generations.
func (r *Reconciler) prepare(ctx context.Context, s *scope) error {
	if prepared(s.inst, s.execution) {
		return nil
	}
	if s.isOutdated() {
		return r.giveWay(ctx, s)
	}
	if err := r.awaitPredecessors(ctx, s); err != nil {
		return err
	}
	found, err := r.inputs(ctx, s.inst, s.now, s.clusters)
	s.adopt(found)
	if err != nil {
		return err
	}
	return kit.Through(ctx, s, r.makes())
}

// prepared reports whether all children of an Installation have the specs of its running job. With sub-installations the phase says so, without
// them the Execution does. An Execution that somebody deleted or took the job from meanwhile has to get it again.
func prepared(inst *v1alpha1.Installation, execution *v1alpha1.Execution) bool {
	status := &inst.Status
	if status.Phase == v1alpha1.PhaseInit || execution == nil && status.ExecutionReference != nil {
		return false
	}
	if execution != nil {
		return given(execution, status.JobID)
	}
	return status.SubInstCache != nil
}

// given reports whether a child has been given a job. An Execution takes a job from the annotation only together with a new spec; in deletion
// it takes none.
func given(child kit.JobObject, job string) bool {
	if child.Job().JobID == job {
		return true
	}
	noted := child.GetAnnotations()[v1alpha1.JobAnnotation] == job
	if execution, ok := child.(*v1alpha1.Execution); ok && execution.DeletionTimestamp.IsZero() {
		return noted && execution.Generation != execution.Status.ObservedGeneration
	}
	return noted
}
