// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// visibleAfter is how long a job may take before intermediate states are written.
const visibleAfter = 2 * time.Second

// operationReconcile is the lastError.operation of errors that name none, as in the existing API.
const operationReconcile = "reconcilePrivate"

// deadline returns when the job times out; zero means never.
func (s *scope) deadline() time.Time {
	timeout := timeoutOf(s.item, s.maxTimeout)
	if timeout == 0 {
		return time.Time{}
	}
	deadline := s.job.Began.Add(timeout)
	if longer := s.goneDeadline(); longer.After(deadline) {
		return longer
	}
	return deadline
}

func (s *scope) isLate(now time.Time) bool {
	deadline := s.deadline()
	return !deadline.IsZero() && !now.Before(deadline)
}

// expire fails a job whose time was up while nothing was running.
func (r *reconciler) expire(ctx context.Context, s *scope) error {
	if !s.isLate(time.Now()) {
		return nil
	}
	return r.fail(ctx, s, s.timeout(nil))
}

// timeout is the failure of a late job: first the step, for tools that look for it, then the root cause.
func (s *scope) timeout(err error) *protocol.Failure {
	message := fmt.Sprintf("timeout at: %q", s.checkpoint())
	if cause := s.rootCause(err); cause != "" {
		message += ": " + cause
	}
	return &protocol.Failure{
		Kind: protocol.Stalled, Operation: operationOf(err), Reason: "ProgressingTimeout",
		Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorTimeout}, Err: errors.New(message),
	}
}

func (s *scope) checkpoint() string {
	switch {
	case s.job.Checkpoint != "":
		return s.job.Checkpoint
	case s.deleting():
		return "start delete"
	}
	return "start reconcile"
}

// rootCause prefers what went wrong over that a context ended.
func (s *scope) rootCause(err error) string {
	if err != nil && !isEndOfContext(err) && !isCheckpoint(err) {
		return err.Error()
	}
	if s.job.Cause != "" {
		return s.job.Cause
	}
	if last := s.item.Status.LastError; last != nil {
		return last.Message
	}
	if err != nil && !isCheckpoint(err) {
		return err.Error()
	}
	return ""
}

func isEndOfContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)
}

// errCheckpoint marks the errors of Item.Checkpoint.
var errCheckpoint = errors.New("timeout")

func isCheckpoint(err error) bool { return errors.Is(err, errCheckpoint) }

// checkpointOf returns the function that notes the current step and stops the call when its time is up.
func (s *scope) checkpointOf(ctx context.Context) func(string) error {
	return func(name string) error {
		s.job.Checkpoint = name
		if s.isLate(time.Now()) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return protocol.Coded(fmt.Errorf("%w at: %q", errCheckpoint, name), v1alpha1.ErrorTimeout)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}

// idleUntilDue ends the pass when the deployer has nothing to do: then only the state of a job that takes long is shown.
func (r *reconciler) idleUntilDue(ctx context.Context, s *scope) error {
	var due bool
	if s.news, due = s.job.Due(time.Now()); due {
		return nil
	}
	return stopAfter(r.show(ctx, s))
}

// nextLook returns when the item has to be looked at again without an event.
func (s *scope) nextLook(now time.Time) time.Duration {
	var next time.Time
	earliest := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	earliest(s.deadline())
	earliest(s.job.RetryAt)
	if visible := s.job.Began.Add(visibleAfter); now.Before(visible) {
		earliest(visible)
	}
	if next.IsZero() {
		return 0
	}
	return max(next.Sub(now), time.Millisecond)
}
