// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"errors"
	"regexp"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

// ErrIdentity is the class of a *fault.Error about an identity that cannot be used, whose subject is Request.Field.
var ErrIdentity = errors.New("no identity")

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
