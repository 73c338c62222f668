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
