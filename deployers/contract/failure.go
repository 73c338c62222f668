// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// maxErrors is how many errors of a job the status keeps.
const maxErrors = 5

// failureOf describes an error for status: with the whole message, all codes of the chain, and a reason that conditions accept.
func failureOf(err error) *kit.Failure {
	inner := kit.AsFailure(operationReconcile, err)
	failure := &kit.Failure{
		Kind: inner.Kind, Operation: inner.Operation, Reason: kit.Reason(inner.Reason), Codes: kit.CodesOf(err),
		Err: errors.New(kit.Message(err.Error())),
	}
	if kit.IsUnrecoverable(err) {
		failure.Kind = kit.Stalled
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

// recordFailure writes an error into the status. It returns whether the message is new, so that it deserves an event.
func recordFailure(item *v1alpha1.DeployItem, failure *kit.Failure, now time.Time) bool {
	status := &item.Status
	before := status.LastError
	status.LastError = kit.NewError(before, failure, now)
	if before != nil && before.Message == status.LastError.Message {
		return false
	}
	if status.FirstError == nil {
		status.FirstError = status.LastError.DeepCopy()
	}
	status.LastErrors = append(status.LastErrors, status.LastError.DeepCopy())
	if surplus := len(status.LastErrors) - maxErrors; surplus > 0 {
		status.LastErrors = status.LastErrors[surplus:]
	}
	return true
}

// Stall returns an error that ends the job at once, because only a person can cure it: invalid configuration, an object of somebody else. It
// carries the code ERR_CONFIGURATION_PROBLEM. operation and reason, a CamelCase word, stand in status.lastError; the message, made from format
// as by fmt.Errorf, names object, field and cure, and no content of Secrets.
func Stall(operation, reason, format string, args ...any) error {
	return kit.Stall(operation, reason, format, args...)
}

// Again returns an error that is tried again with back-off until the item times out, as every error is that is neither from Stall nor carries a
// code of v1alpha1.UnrecoverableCodes. It gives the error an operation and a reason. The arguments are those of Stall.
func Again(operation, reason, format string, args ...any) error {
	return kit.Again(operation, reason, format, args...)
}
