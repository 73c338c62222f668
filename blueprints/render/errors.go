// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
)

// Reasons of errors about imports and exports.
const (
	// ReasonImportNotFound says that a required import has no value.
	ReasonImportNotFound = "ImportNotFound"
	// ReasonImportNotSatisfied says that an import has a value that does not fit.
	ReasonImportNotSatisfied = "ImportNotSatisfied"
	// ReasonImportValidationFailed says that an import execution found errors.
	ReasonImportValidationFailed = "ImportValidationFailed"
	// ReasonSchemaValidationFailed says that data does not match its schema.
	ReasonSchemaValidationFailed = schema.ReasonFailed
)

// Error is about one import or export.
type Error struct {
	// Reason is one of the reasons above.
	Reason string
	// Name of the import or export; empty when it is about all.
	Name string
	// Err is the cause.
	Err error
}

// Error returns the cause with what it is about.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// CycleError says that deploy items or sub-installations depend on each other in a circle.
type CycleError struct {
	// Names along the circle; the first is repeated at the end.
	Names []string
}

// Error lists the circle.
func (e *CycleError) Error() string {
	return "cycle found in dependencies: " + strings.Join(e.Names, " → ") + "; remove one of them (dependsOn, or imports of exports)"
}

// schemaError makes an Error for data that was checked.
func schemaError(what, name string, err error) error {
	reason := ReasonImportNotSatisfied
	if _, ok := errors.AsType[*schema.Error](err); ok {
		reason = ReasonSchemaValidationFailed
	}
	return &Error{Reason: reason, Name: name, Err: fmt.Errorf("%s %q: %w; correct the value or the schema", what, name, err)}
}

// Failure is an error of this package as it can be sent to another process. Errors.As finds in it what it was made from.
type Failure struct {
	Message string
	// Reason and Name are those of an Error, Cycle the names of a CycleError, Problems those of a schema.Error.
	Reason, Name    string
	Cycle, Problems []string
}

// FailureOf returns an error as a Failure, nil for none.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	out := &Failure{Message: err.Error()}
	if problem, ok := errors.AsType[*Error](err); ok {
		out.Reason, out.Name = problem.Reason, problem.Name
	}
	if cycle, ok := errors.AsType[*CycleError](err); ok {
		out.Cycle = cycle.Names
	}
	if mismatch, ok := errors.AsType[*schema.Error](err); ok {
		out.Problems = mismatch.Problems
	}
	return out
}

// Error returns the message as it was.
func (f *Failure) Error() string { return f.Message }

// Unwrap returns what the error was about.
func (f *Failure) Unwrap() (causes []error) {
	if f.Reason != "" {
		causes = append(causes, &Error{Reason: f.Reason, Name: f.Name, Err: errors.New(f.Message)})
	}
	if len(f.Cycle) > 0 {
		causes = append(causes, &CycleError{Names: f.Cycle})
	}
	if len(f.Problems) > 0 {
		causes = append(causes, &schema.Error{Problems: f.Problems})
	}
	return causes
}
