// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"

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

func operationOf(err error) string {
	if err == nil {
		return operationReconcile
	}
	return failureOf(err).Operation
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
