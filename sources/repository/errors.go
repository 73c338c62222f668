// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/git"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Errors of this package are about a component version, a resource or a repository; fault.KindOf returns who can end them.

func stalled(subject, problem, cure string) error {
	return &fault.Error{Kind: fault.Stalled, Subject: subject, Problem: problem, Cure: cure}
}

// lacking is a stalled failure of what is not there.
func lacking(subject, problem, cure string) error {
	return &fault.Error{Class: component.ErrNotFound, Subject: subject, Problem: problem, Cure: cure}
}

// refused is a stalled failure whose cause says the rest.
func refused(subject string, err error) error {
	return fault.Of(fault.Stalled, fmt.Errorf("%s: %w", subject, err))
}

// refusedIn is refused for what was read in a context. Where that has ended, what was to be read is not to blame.
func refusedIn(ctx context.Context, subject string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", subject, context.Cause(ctx))
	}
	return refused(subject, err)
}

// spoiled is for a component version in a registry that cannot be read.
func spoiled(subject string, err error) error {
	return &fault.Error{Kind: fault.Stalled, Subject: subject, Problem: err.Error(), Cause: err, Cure: "publish the component version anew"}
}

// missing reports whether the repository has no such component version, or hides it.
func missing(err error) bool {
	for _, class := range []error{component.ErrNotFound, oci.ErrNotFound, oci.ErrUnauthorized, git.ErrNotFound} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}
