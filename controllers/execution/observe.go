// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

const succeededMessage = "all deploy items succeeded"

// observeItems ends the job when all items have succeeded, or when one has failed and none is running. Otherwise the next
// event of an item comes back here.
func (r *Reconciler) observeItems(ctx context.Context, s *scope) error {
	job := s.execution.Status.JobID
	var failed *v1alpha1.DeployItem
	succeeded, running := 0, 0
	for i := range s.templates {
		item := s.items[s.templates[i].Name]
		switch {
		case ended(item, job) && item.Status.Phase == v1alpha1.PhaseSucceeded:
			succeeded++
		case ended(item, job) && failed == nil:
			failed = item
		case item.Status.JobID == job && !item.Status.IsIdle():
			running++
		}
	}
	if failed != nil && running == 0 {
		s.fail(itemFailure(failed))
		return nil
	}
	if succeeded < len(s.templates) {
		return nil
	}
	if err := r.collectExports(ctx, s); err != nil {
		return err
	}
	kit.Succeed(s.execution, succeededMessage, s.now)
	return nil
}

// itemFailure passes the cause of a failed item on, with its name.
func itemFailure(item *v1alpha1.DeployItem) *kit.Failure {
	failure := &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: "DeployItemFailed"}
	name := item.Labels[v1alpha1.ExecutionManagedNameLabel]
	last := item.Status.LastError
	if last == nil {
		failure.Err = fmt.Errorf("deploy item %s (%s) is %s", name, item.Name, item.Status.Phase)
		return failure
	}
	failure.Reason, failure.Codes = last.Reason, last.Codes
	failure.Err = fmt.Errorf("deploy item %s (%s): %s", name, item.Name, last.Message)
	return failure
}
