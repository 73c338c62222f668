// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// failureOf describes an error for status: with the whole message, all codes of the chain, and a reason that conditions accept.
func failureOf(err error) *protocol.Failure {
	inner := protocol.AsFailure(operationReconcile, err)
	failure := &protocol.Failure{
		Kind: inner.Kind, Operation: inner.Operation, Reason: protocol.Reason(inner.Reason), Codes: protocol.CodesOf(err),
		Err: errors.New(protocol.Message(err.Error())),
	}
	if protocol.IsUnrecoverable(err) {
		failure.Kind = protocol.Stalled
	}
	if failure.Operation == "" {
		failure.Operation = operationReconcile
	}
	return failure
}

// Stall returns an error that ends the job at once, because only a person can cure it: invalid configuration, an object of somebody else. It
// carries the code ERR_CONFIGURATION_PROBLEM. operation and reason, a CamelCase word, stand in status.lastError; the message, made from format
// as by fmt.Errorf, names object, field and cure, and no content of Secrets.
func Stall(operation, reason, format string, args ...any) error {
	return protocol.Stall(operation, reason, format, args...)
}

// Again returns an error that is tried again with back-off until the item times out, as every error is that is neither from Stall nor carries a
// code of v1alpha1.UnrecoverableCodes. It gives the error an operation and a reason. The arguments are those of Stall.
func Again(operation, reason, format string, args ...any) error {
	return protocol.Again(operation, reason, format, args...)
}

// TargetFailure says who can cure the problem of a target. A missing Target fails a deployment at once; a deletion waits for it,
// because only with it the deployed objects can go, and says how to do without. Errors about something else stay as they are.
func TargetFailure(err error, deleting bool) error {
	var problem *target.Error
	if !errors.As(err, &problem) {
		return err
	}
	if deleting && (problem.Reason == target.ReasonNotFound || problem.Reason == target.ReasonContentMissing) {
		err = fmt.Errorf("%w; where nobody can do that any more, as in a namespace that is being deleted, annotate the Installation %s: \"true\", or a DeployItem without one %s: \"true\", "+
			"to leave what was deployed", err, v1alpha1.ForceDeleteAnnotation, v1alpha1.DeleteWithoutUninstallAnnotation)
	}
	failure := &protocol.Failure{Operation: operationReconcile, Reason: problem.Reason, Codes: problem.Codes, Err: err}
	if len(problem.Codes) > 0 || problem.Reason == target.ReasonNotFound && !deleting {
		failure.Kind = protocol.Stalled
	}
	return failure
}

// HasLostRecord reports whether somebody has removed the status of an item, which recorded what earlier jobs have deployed, and no job has
// succeeded since. A deployer then looks on the target for what carries the marks of the item, in Ensure and in Delete.
func HasLostRecord(item *v1alpha1.DeployItem) bool {
	return conditions.IsTrue(item, v1alpha1.RecordLostCondition)
}

// CannotLook adds to the cause for which the deletion of an item does not end what to do where the item has lost its record: its target cannot be
// searched then. Other causes, and none, stay as they are.
func CannotLook(item *v1alpha1.DeployItem, cause error) error {
	if cause == nil || !HasLostRecord(item) {
		return cause
	}
	return fmt.Errorf("the status that recorded what was deployed is lost, and the target cannot be searched for it: %w; make the Target lead there again, "+
		"or annotate the DeployItem %s: \"true\" to leave there what it has deployed", cause, v1alpha1.DeleteWithoutUninstallAnnotation)
}

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
	// A deletion that waits for clusters that are gone has until then.
	if after, since := goneAfter(s.item), s.item.Status.TargetGoneSince; after > 0 && since != nil && since.Add(after+goneGrace).After(deadline) {
		return since.Add(after + goneGrace)
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
	step, operation := "start reconcile", operationReconcile
	if s.deleting() {
		step = "start delete"
	}
	if err != nil {
		operation = failureOf(err).Operation
	}
	message := fmt.Sprintf("timeout at: %q", cmp.Or(s.job.Checkpoint, step))
	if cause := s.rootCause(err); cause != "" {
		message += ": " + cause
	}
	return &protocol.Failure{
		Kind: protocol.Stalled, Operation: operation, Reason: "ProgressingTimeout",
		Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorTimeout}, Err: errors.New(message),
	}
}

// rootCause prefers what went wrong over that a context ended.
func (s *scope) rootCause(err error) string {
	isEnd := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, errInterrupted)
	if err != nil && !isEnd && !isCheckpoint(err) {
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
