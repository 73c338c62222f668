// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// findExecution reads the Execution of the Installation: it has the same name. It stops when the cache does not yet show
// what was written to it last. One of this name that somebody else made is never touched.
func (r *Reconciler) findExecution(ctx context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.inst)
	execution := &v1alpha1.Execution{}
	err := r.Get(ctx, key, execution)
	if apierrors.IsNotFound(err) {
		if wait := r.executions.Unseen(key); wait > 0 {
			s.Wake(wait)
			return kit.ErrStop
		}
		return nil
	}
	if err != nil {
		return err
	}
	if s.foreign = !metav1.IsControlledBy(execution, s.inst); s.foreign {
		return nil
	}
	if r.executions.Stale(execution) {
		return kit.ErrStop
	}
	s.execution = execution
	return nil
}

// applyExecution writes the spec of the running job, and with it the job, into the Execution. Without deploy items there
// is no Execution, but one that exists is emptied so that it cleans up.
func (r *Reconciler) applyExecution(ctx context.Context, s *scope) error {
	if s.execution == nil && len(s.plan.deployItems) == 0 {
		return nil
	}
	spec, err := packing.Pack(s.inst.ContextName(), s.plan.deployItems)
	if err != nil {
		return err
	}
	if s.execution == nil {
		return r.createExecution(ctx, s, spec)
	}
	return r.updateExecution(ctx, s, spec)
}

// reasonExecutionExists says that somebody else's Execution has the name of ours.
const reasonExecutionExists = "ExecutionExists"

// keepingAdvice says how to delete a child that a deletion of its parent with --cascade=orphan has left, so that the next job takes over what it
// had deployed.
const keepingAdvice = ". If it is left from a deletion with --cascade=orphan, annotate it " + v1alpha1.DeleteWithoutUninstallAnnotation +
	"=true before you delete it: what it deployed stays, and the next job takes it over"

func (r *Reconciler) createExecution(ctx context.Context, s *scope, spec v1alpha1.ExecutionSpec) error {
	if s.foreign {
		return kit.Stall(jobs.Operation, reasonExecutionExists, "Execution %s/%s exists and does not belong to this installation; delete or rename it%s",
			s.inst.Namespace, s.inst.Name, keepingAdvice)
	}
	execution := &v1alpha1.Execution{
		ObjectMeta: metav1.ObjectMeta{
			Name: s.inst.Name, Namespace: s.inst.Namespace, Finalizers: []string{v1alpha1.Finalizer},
			Annotations: map[string]string{v1alpha1.JobAnnotation: s.inst.Status.JobID},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(s.inst, v1alpha1.GroupVersion.WithKind("Installation")),
			},
		},
		Spec: spec,
	}
	kit.Bequeath(s.inst, execution)
	if shard, ok := s.inst.Labels[kit.ShardLabel]; ok {
		execution.Labels = map[string]string{kit.ShardLabel: shard}
	}
	if err := r.Create(ctx, execution); err != nil {
		return err
	}
	r.executions.Created(execution)
	s.execution = execution
	s.referToExecution()
	return nil
}

// referToExecution names the Execution in the status.
func (s *scope) referToExecution() {
	s.inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Name: s.inst.Name, Namespace: s.inst.Namespace}
}

// updateExecution writes the spec together with the job. One that keeps its spec gets the job by its status, and so does one whose deletion
// has failed, to try it again; one in deletion gets no spec. An Execution that has the job already keeps the spec that came with it.
func (r *Reconciler) updateExecution(ctx context.Context, s *scope, spec v1alpha1.ExecutionSpec) error {
	same, err := sameItems(s.execution.Spec, spec)
	if err != nil {
		return err
	}
	if s.hasJob(s.execution) {
		if !same {
			s.noteChange()
		}
		return nil
	}
	if err := awaitInterrupted(s.execution, "Execution"); err != nil {
		return err
	}
	if s.execution.DeletionTimestamp.IsZero() && !same {
		err = r.respecifyExecution(ctx, s, spec)
	} else {
		err = r.annotateExecution(ctx, s)
	}
	if err != nil || s.hasJob(s.execution) {
		return err
	}
	return handOver(ctx, r.Client, s, s.execution, &r.executions)
}

func (r *Reconciler) respecifyExecution(ctx context.Context, s *scope, spec v1alpha1.ExecutionSpec) error {
	s.execution.Spec = spec
	kit.Bequeath(s.inst, s.execution)
	if jobs.IsInterruptedIdle(s.execution) {
		delete(s.execution.Annotations, v1alpha1.OperationAnnotation)
	}
	s.execution.Annotations[v1alpha1.JobAnnotation] = s.inst.Status.JobID
	if err := r.Update(ctx, s.execution); err != nil {
		return err
	}
	r.executions.Wrote(s.execution)
	return nil
}

// annotateExecution passes annotations on. The deletion that is at work is left alone: its end is waited for.
func (r *Reconciler) annotateExecution(ctx context.Context, s *scope) error {
	change := kit.MetadataChange{Annotations: kit.Inherit(s.inst)}
	if !s.execution.DeletionTimestamp.IsZero() && !jobs.DeleteFailed(s.execution) {
		change.Annotations[v1alpha1.JobAnnotation] = &s.inst.Status.JobID
	}
	if jobs.IsInterruptedIdle(s.execution) {
		change.Annotations[v1alpha1.OperationAnnotation] = nil
	}
	before := s.execution.ResourceVersion
	if err := kit.PatchMetadata(ctx, r.Client, s.execution, change); err != nil {
		return err
	}
	if s.execution.ResourceVersion != before {
		r.executions.Wrote(s.execution)
	}
	return nil
}

// sameItems reports whether two specs of an Execution say the same; deploy items may be compressed in one and readable in the other, as
// Gardener Landscaper compresses all. What cannot be read is not the same.
func sameItems(has, wanted v1alpha1.ExecutionSpec) (bool, error) {
	present, err := packing.Unpack(&has)
	if err != nil {
		return false, nil
	}
	items, err := packing.Unpack(&wanted)
	if err != nil {
		return false, err
	}
	return kit.SameJSON(
		v1alpha1.ExecutionSpec{Context: has.Context, DeployItems: present}, v1alpha1.ExecutionSpec{Context: wanted.Context, DeployItems: items})
}
