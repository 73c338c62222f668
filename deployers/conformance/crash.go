// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// crash leaves jobs in the state in which a process of the deployer leaves them that dies right after it has begun them: one that deploys, and one that
// uninstalls.
func crash(ctx context.Context, b *bench) error {
	s, _, err := b.succeeded(ctx, "crash")
	if err != nil {
		return err
	}
	job, err := s.abandon(ctx, v1alpha1.PhaseProgressing)
	if err != nil {
		return err
	}
	item, err := s.finished(ctx, job)
	if err != nil {
		return err
	}
	if item.Status.Phase != v1alpha1.PhaseSucceeded {
		return fmt.Errorf("the job ended: %s", describe(item))
	}
	if err := s.inOneWrite(job); err != nil {
		return err
	}
	if _, err := s.delete(ctx); err != nil {
		return err
	}
	if job, err = s.abandon(ctx, v1alpha1.PhaseDeleting); err != nil {
		return err
	}
	if err := s.isGone(ctx); err != nil {
		return fmt.Errorf("in the deletion: %w", err)
	}
	return s.inOneWrite(job)
}

// abandon writes a new job of which the status says that the deployer has begun it, and returns its ID. Identity and name of the deployer are those of the
// job before.
func (s *subject) abandon(ctx context.Context, phase v1alpha1.Phase) (string, error) {
	job := uuid.NewString()
	_, err := s.editStatus(ctx, func(item *v1alpha1.DeployItem) error {
		status, now := &item.Status, s.now()
		status.JobID, status.JobIDGenerationTime, status.LastReconcileTime = job, now, now
		status.Phase, status.ObservedGeneration = phase, item.Generation
		if status.TransitionTimes != nil {
			status.TransitionTimes.InitTime, status.TransitionTimes.FinishedTime = now, nil
		}
		return nil
	})
	return job, err
}
