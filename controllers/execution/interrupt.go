// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

var errInterrupted = errors.New("operation was interrupted")

// interrupt ends the job on every item that has not ended it, and then forgets the operation.
func (r *Reconciler) interrupt(ctx context.Context, s *scope) error {
	if s.execution.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		return nil
	}
	for _, item := range s.items {
		if err := r.interruptItem(ctx, s, item); err != nil {
			return err
		}
	}
	for _, item := range s.orphans {
		if err := r.interruptItem(ctx, s, item); err != nil {
			return err
		}
	}
	err := r.patchMetadata(ctx, s, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}})
	if err != nil {
		return err
	}
	s.fail(interrupted())
	return kit.ErrStop
}

// interruptItem writes the end of the job into the status of an item in place of its deployer, as the protocol says.
func (r *Reconciler) interruptItem(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	job := s.execution.Status.JobID
	if item.Status.JobIDFinished == job {
		return nil
	}
	item.Status.JobID = job
	kit.Fail(item, interrupted(), s.now)
	if err := r.Status().Update(ctx, item); err != nil {
		return err
	}
	r.items.Wrote(item)
	return nil
}

func interrupted() *kit.Failure {
	return &kit.Failure{
		Kind: kit.Stalled, Operation: "InterruptOperation", Reason: "InterruptOperation", Err: errInterrupted,
	}
}
