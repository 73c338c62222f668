// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	readOperation    = "ReadSpec"
	reasonUnreadable = "Unreadable"
)

// checkReadable ends a job whose spec could not be read as a whole, or contradicts itself: nothing is deployed from the rest of it.
func (r *Reconciler) checkReadable(_ context.Context, in *reading) error {
	if in.inst.Undecoded.Err() != nil {
		return kit.Stall(readOperation, reasonUnreadable, "%w", in.inst.Undecoded.Err())
	}
	if problems := validation.Installation(in.inst); len(problems) > 0 {
		return kit.Stall(jobs.Operation, "InvalidInstallation", "%w", problems.ToAggregate())
	}
	return nil
}
