// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
)

// Rollback makes the next revision of a release from an earlier one, and returns it. It gets the labels of the earlier one and those of the
// request. When ctx ends first, the release stays pending and nothing goes on in the background.
func (e *Engine) Rollback(ctx context.Context, request Request, revision int) (*Release, error) {
	return e.run(ctx, request, "rollback", func(op *operation) (*release.Release, error) {
		op.Releases.Driver = records.Numbered{Driver: op.Releases.Driver, Labels: request.Labels}
		rollback := action.NewRollback(op.Configuration)
		rollback.Version, rollback.MaxHistory = revision, request.maxHistory()
		rollback.Wait, rollback.WaitForJobs, rollback.DisableHooks = request.Wait, request.WaitForJobs, request.DisableHooks
		rollback.Force, rollback.Recreate, rollback.CleanupOnFail = request.Force, request.Recreate, request.CleanupOnFail
		rollback.Timeout = request.budget(ctx)
		op.passUnserved(true)
		failure := rollback.Run(request.Name)
		made, err := op.Releases.Last(request.Name)
		if failure == nil || err != nil {
			return made, firstOf(failure, err)
		}
		if made.Info.Status == release.StatusPendingRollback { // Helm leaves it so when a hook fails
			made.SetStatus(release.StatusFailed, fmt.Sprintf("Rollback %q failed: %s", request.Name, failure))
			_ = op.Releases.Update(made) // it stays pending, which the next job ends
		}
		return nil, failure
	})
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// maxHistory is how many revisions an operation leaves recorded. With more than are read nobody could work on the release any more.
func (r Request) maxHistory() int {
	switch {
	case r.MaxHistory == nil:
		return maxHistory
	case *r.MaxHistory == 0 || *r.MaxHistory > records.MaxRevisions:
		return records.MaxRevisions
	}
	return *r.MaxHistory
}
