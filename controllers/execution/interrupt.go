// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// interrupt ends the job on every item that has not ended it, then the own job, and only then forgets the operation: whoever waits until
// no operation is left and the job has ended never sees the result of another job.
func (r *Reconciler) interrupt(ctx context.Context, s *scope) error {
	if s.execution.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		return nil
	}
	for _, item := range slices.Concat(slices.Collect(maps.Values(s.items)), s.orphans) {
		if err := r.interruptItem(ctx, s, item); err != nil {
			return err
		}
	}
	s.fail(protocol.Interrupted())
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	return r.dropOperation(ctx, s)
}

// dropped is the removal of the operation.
func dropped() protocol.MetadataChange {
	return protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}
}

// isLeftBehind reports whether the operation may have ended the last job already without being removed, because the process died in between. It
// must not end the next job. An Installation removes such an operation before it gives its Execution a job to apply, so one that comes with that
// job is for it.
func isLeftBehind(execution *v1alpha1.Execution) bool {
	last := execution.Status.LastError
	return execution.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt &&
		execution.Status.Phase.IsFinal() && last != nil && last.Operation == protocol.InterruptOperation &&
		(protocol.ControllerOf(execution, "Installation") == nil || !execution.DeletionTimestamp.IsZero())
}

// interruptItem writes the end of the job into the status of an item in place of its deployer, as the protocol says.
func (r *Reconciler) interruptItem(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	job := s.execution.Status.JobID
	if item.Status.JobIDFinished == job && !runsByClock(item) {
		return nil
	}
	item.Status.JobID = job
	protocol.Fail(item, protocol.Interrupted(), s.now)
	return protocol.WriteItemStatus(ctx, r.Client, item, s.now, &r.items)
}
