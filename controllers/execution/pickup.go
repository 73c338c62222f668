// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// unattended is how long a job waits for its deployer before that is shown. It is long, because deployers that are only busy must not cost
// writes.
const unattended = time.Minute

// grace is how long a job that a deletion waits for waits for its deployer.
const grace = 10 * time.Second

// letGoUnpicked ends the job of an Execution whose Installation is being deleted when all that it waits for are items that no deployer has ever
// begun, nor begins this time.
func (r *Reconciler) letGoUnpicked(ctx context.Context, s *scope) error {
	late, running := s.late(s.inOrder(), grace)
	isAwaited := func(item *v1alpha1.DeployItem) bool {
		return !slices.Contains(late, item) || !protocol.IsUntouched(item)
	}
	if len(late) == 0 || slices.ContainsFunc(running, isAwaited) {
		return nil
	}
	parent, err := parentOf(ctx, r.Client, s.execution)
	if err != nil || parent == nil || parent.DeletionTimestamp.IsZero() {
		return err
	}
	s.fail(&protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: "NotPickedUp", Err: errors.New(unpicked(late[0]).Message)})
	return nil
}

// late returns which of the items that run the job no deployer has begun for a time. It notes when to look again.
func (s *scope) late(items []*v1alpha1.DeployItem, after time.Duration) (late, running []*v1alpha1.DeployItem) {
	for _, item := range items {
		if item.Status.JobID != s.execution.Status.JobID || item.Status.IsIdle() {
			continue
		}
		running = append(running, item)
		requested := item.Status.JobIDGenerationTime
		if requested == nil || item.IsPickedUp() {
			continue
		}
		left := requested.Add(after).Sub(s.now)
		switch {
		case left <= 0, protocol.IsAhead(requested.Time, s.now):
			late = append(late, item)
		case s.requeue == 0 || left < s.requeue:
			s.requeue = left
		}
	}
	return late, running
}

// unpicked says that no deployer has picked up the job of an item, and why where the controller has found that out.
func unpicked(item *v1alpha1.DeployItem) protocol.Cause {
	cause := protocol.CauseOf(item)
	if cause.Message == "" {
		cause = protocol.Cause{Reason: meta.ProgressingWithRetryReason, Message: fmt.Sprintf(
			"no deployer has picked up its job; run a deployer for type %s and its Target", item.Spec.Type)}
	}
	return cause.Below(wayTo(item))
}
