// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Interrupt passes the operation on to the children that have to end their job.
func (k *Keeper) Interrupt(ctx context.Context, f *Family, has func(child kit.JobObject) bool) error {
	value := v1alpha1.OperationInterrupt
	change := kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: &value}}
	for _, name := range slices.Sorted(maps.Keys(f.Children)) {
		child := f.Children[name]
		if !has(child) {
			continue
		}
		if err := kit.PatchMetadata(ctx, k.Client, child, change); err != nil {
			return err
		}
		k.Installations.Wrote(child)
	}
	if f.Execution == nil || !has(f.Execution) {
		return nil
	}
	if err := kit.PatchMetadata(ctx, k.Client, f.Execution, change); err != nil {
		return err
	}
	k.Executions.Wrote(f.Execution)
	return nil
}

// GiveWay ends an outdated job, before any child gets the newer spec with it, once the children that have the job have ended it: of siblings one
// may wait for what another does in the same job. Those that get nowhere are interrupted. The next job follows in the same write.
func (k *Keeper) GiveWay(ctx context.Context, f *Family) error {
	atWork := f.Execution != nil && f.isAtWork(f.Execution) ||
		slices.ContainsFunc(slices.Sorted(maps.Keys(f.Children)), func(name string) bool { return f.isAtWork(f.Children[name]) })
	if !atWork {
		return &kit.Failure{Kind: kit.Stalled, Operation: jobs.Operation, Reason: jobs.ReasonAnotherJob, Err: errors.New(jobs.ChangedMessage)}
	}
	if err := k.Interrupt(ctx, f, jobs.IsStuck); err != nil {
		return err
	}
	return f.await()
}

// awaitInterrupted waits while a child has not ended the job that it is to end by an interruption. A parent that is interrupted before all children
// have its job ends without them, and the interruption would end the next job in place of that one.
func awaitInterrupted(child kit.JobObject, kind string) error {
	if child.Job().IsIdle() || child.GetAnnotations()[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		return nil
	}
	return kit.Wait(jobs.Operation, "ChildInterrupted", "waiting for %s %s to end its interrupted job", kind, child.GetName())
}

// handOver gives a child that keeps its spec the running job by its status: an annotation would change no generation, so that until the child
// takes the job up it would look as if it had ended it. Written learns of the write.
func handOver(ctx context.Context, c client.Client, f *Family, child kit.JobObject, written *kit.Consistency) error {
	kit.KeepValidConditions(child)
	child.Job().JobID = f.Inst.Status.JobID
	kit.Progress(child, meta.ProgressingReason, "a job of the parent begins")
	if err := c.Status().Update(ctx, child); err != nil {
		return err
	}
	written.Wrote(child)
	return nil
}
