// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"regexp"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

// Error says which field asks for an identity, why there is none and what to do.
type Error struct {
	// Retry says that another try may succeed, because what is missing announces itself by no event.
	Retry bool
	// Field is Request.Field.
	Field string
	// Problem is the fact.
	Problem string
	// Cure is what a person can do.
	Cure string
	// Cause is what Problem comes from, for errors.Is; it is no part of the message.
	Cause error
}

// Error returns field, problem and cure as one sentence.
func (e *Error) Error() string { return e.Field + ": " + e.Problem + "; " + e.Cure }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// loginError is the failure of a cloud, in words that a person may see. The library writes whole answers, and may repeat tokens.
type loginError struct {
	text  string
	cause error
}

func (e *loginError) Error() string { return e.text }

// Unwrap returns what a caller may tell network failures by.
func (e *loginError) Unwrap() error { return e.cause }

// secrets are what tokens look like: those of Kubernetes and Azure, and those of Google.
var secrets = regexp.MustCompile(`eyJ[\w-]+(\.[\w-]*)*|ya29\.[\w.-]+`)

func shown(err error) error {
	text := secrets.ReplaceAllString(strings.Join(strings.Fields(err.Error()), " "), "<token>")
	return &loginError{beginning.Of(text, 600), err}
}
