// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// FindExecution reads the Execution of the Installation: it has the same name. It stops when the cache does not yet show
// what was written to it last. One of this name that somebody else made is never touched.
func (k *Keeper) FindExecution(ctx context.Context, f *Family) error {
	key := client.ObjectKeyFromObject(f.Inst)
	execution := &v1alpha1.Execution{}
	err := k.Get(ctx, key, execution)
	if apierrors.IsNotFound(err) {
		if wait := k.Executions.Unseen(key); wait > 0 {
			f.Wake(wait)
			return kit.ErrStop
		}
		return nil
	}
	if err != nil {
		return err
	}
	if !metav1.IsControlledBy(execution, f.Inst) {
		f.Foreign = execution
		return nil
	}
	if k.Executions.Stale(execution) {
		return kit.ErrStop
	}
	f.Execution = execution
	return nil
}

// ApplyExecution writes the spec of the running job, and with it the job, into the Execution. Without deploy items there
// is no Execution, but one that exists is emptied so that it cleans up.
func (k *Keeper) ApplyExecution(ctx context.Context, p *plan.Plan, f *Family) error {
	if f.Execution == nil && len(p.DeployItems) == 0 {
		return nil
	}
	spec, err := packing.Pack(f.Inst.ContextName(), p.DeployItems)
	if err != nil {
		return err
	}
	spec.SensitiveExports = p.HasSensitiveExports()
	if f.Execution == nil {
		return k.createExecution(ctx, f, spec)
	}
	return k.updateExecution(ctx, f, spec)
}

// ReasonExecutionExists says that somebody else's Execution has the name of ours.
const ReasonExecutionExists = "ExecutionExists"

// keepingAdvice says how to delete a child that a deletion of its parent with --cascade=orphan has left, so that the next job takes over what it
// had deployed.
const keepingAdvice = ". If it is left from a deletion with --cascade=orphan, annotate it " + v1alpha1.DeleteWithoutUninstallAnnotation +
	"=true before you delete it: what it deployed stays, and the next job takes it over"

func (k *Keeper) createExecution(ctx context.Context, f *Family, spec v1alpha1.ExecutionSpec) error {
	if f.Foreign != nil && f.isOfFormer(f.Foreign) {
		return awaitFormer("ExecutionDeleting", "Execution", f.Foreign)
	}
	if f.Foreign != nil {
		return kit.Stall(jobs.Operation, ReasonExecutionExists, "Execution %s/%s exists and does not belong to this installation; delete or rename it%s",
			f.Inst.Namespace, f.Inst.Name, keepingAdvice)
	}
	execution := &v1alpha1.Execution{
		ObjectMeta: metav1.ObjectMeta{
			Name: f.Inst.Name, Namespace: f.Inst.Namespace, Finalizers: []string{v1alpha1.Finalizer},
			Annotations: map[string]string{v1alpha1.JobAnnotation: f.Inst.Status.JobID},
			OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(f.Inst, v1alpha1.GroupVersion.WithKind("Installation")),
			},
		},
		Spec: spec,
	}
	kit.SetInherited(f.Inst, execution)
	if shard, ok := f.Inst.Labels[kit.ShardLabel]; ok {
		execution.Labels = map[string]string{kit.ShardLabel: shard}
	}
	if err := k.Create(ctx, execution); err != nil {
		return err
	}
	k.Executions.Created(execution)
	f.Execution = execution
	f.ReferToExecution()
	return nil
}

// ReferToExecution names the Execution in the status.
func (f *Family) ReferToExecution() {
	f.Inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Name: f.Inst.Name, Namespace: f.Inst.Namespace}
}

// updateExecution writes the spec together with the job. One that keeps its spec gets the job by its status, and so does one whose deletion
// has failed, to try it again; one in deletion gets no spec. An Execution that has the job already keeps the spec that came with it.
func (k *Keeper) updateExecution(ctx context.Context, f *Family, spec v1alpha1.ExecutionSpec) error {
	same, err := sameItems(f.Execution.Spec, spec)
	if err != nil {
		return err
	}
	if f.HasJob(f.Execution) {
		if !same {
			f.NoteChange()
		}
		return nil
	}
	if err := awaitInterrupted(f.Execution, "Execution"); err != nil {
		return err
	}
	if f.Execution.DeletionTimestamp.IsZero() && !same {
		err = k.respecifyExecution(ctx, f, spec)
	} else {
		err = k.annotateExecution(ctx, f)
	}
	if err != nil || f.HasJob(f.Execution) {
		return err
	}
	return handOver(ctx, k.Client, f, f.Execution, k.Executions)
}

func (k *Keeper) respecifyExecution(ctx context.Context, f *Family, spec v1alpha1.ExecutionSpec) error {
	f.Execution.Spec = spec
	kit.SetInherited(f.Inst, f.Execution)
	if jobs.IsInterruptedIdle(f.Execution) {
		delete(f.Execution.Annotations, v1alpha1.OperationAnnotation)
	}
	f.Execution.Annotations[v1alpha1.JobAnnotation] = f.Inst.Status.JobID
	if err := k.Update(ctx, f.Execution); err != nil {
		return err
	}
	k.Executions.Wrote(f.Execution)
	return nil
}

// annotateExecution passes annotations on. The deletion that is at work is left alone: its end is waited for.
func (k *Keeper) annotateExecution(ctx context.Context, f *Family) error {
	change := kit.MetadataChange{Annotations: kit.Inherit(f.Inst)}
	if !f.Execution.DeletionTimestamp.IsZero() && !jobs.DeleteFailed(f.Execution) {
		change.Annotations[v1alpha1.JobAnnotation] = &f.Inst.Status.JobID
	}
	if jobs.IsInterruptedIdle(f.Execution) {
		change.Annotations[v1alpha1.OperationAnnotation] = nil
	}
	before := f.Execution.ResourceVersion
	if err := kit.PatchMetadata(ctx, k.Client, f.Execution, change); err != nil {
		return err
	}
	if f.Execution.ResourceVersion != before {
		k.Executions.Wrote(f.Execution)
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
	has.DeployItems, has.DeployItemsCompressed = present, nil
	wanted.DeployItems, wanted.DeployItemsCompressed = items, nil
	return kit.SameJSON(has, wanted)
}
