// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// observeExecution waits until the Execution has ended the job, and passes on why it failed.
func (r *Reconciler) observeExecution(_ context.Context, s *scope) error {
	err := jobs.JudgeExecution(s.execution, s.inst.Status.JobID)
	if errors.Is(err, kit.ErrStop) {
		return s.awaitChildren()
	}
	return err
}

const (
	workingMessage  = "sub-installations and deploy items are at work"
	deletingMessage = "sub-installations and deploy items are being deleted"
)

// awaitChildren stops, and shows why the work of a child is tried again, or that none is.
func (s *scope) awaitChildren() error {
	otherwise := workingMessage
	if !s.inst.DeletionTimestamp.IsZero() {
		otherwise = deletingMessage
	}
	kit.ShowCause(s.inst, jobs.RetryCause(s.inst.Status.JobID, s.execution, s.children), otherwise)
	return kit.ErrStop
}
