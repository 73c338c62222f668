// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/sources/cloud"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/git"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Kind says who can end a failure.
type Kind int

// Kinds of failures.
const (
	// Retry failures go away by themselves: a network or a server is in trouble.
	Retry Kind = iota
	// Waiting failures end with an event of a Flux source.
	Waiting
	// Stalled failures need a person.
	Stalled
)

// Error says which component version or resource failed in which repository, what failed and what to do.
type Error struct {
	// Kind says who can end it.
	Kind Kind
	// Subject is the component version, resource or repository.
	Subject string
	// Problem is the fact.
	Problem string
	// Cure is what a person can do.
	Cure string
	// Cause is what Problem comes from, for errors.Is; it is no part of the message.
	Cause error
}

// Error returns subject, problem and cure as one sentence.
func (e *Error) Error() string { return e.Subject + ": " + e.Problem + "; " + e.Cure }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

func stalled(subject, problem, cure string) error {
	return &Error{Kind: Stalled, Subject: subject, Problem: problem, Cure: cure}
}

// refused is a stalled failure whose cause says the rest.
func refused(subject string, err error) error {
	return &wrapped{kind: Stalled, err: fmt.Errorf("%s: %w", subject, err)}
}

// spoiled is for a component version in a registry that cannot be read.
func spoiled(subject string, err error) error {
	return &Error{Kind: Stalled, Subject: subject, Problem: err.Error(), Cause: err, Cure: "publish the component version anew"}
}

// wrapped gives an error a kind.
type wrapped struct {
	kind Kind
	err  error
}

func (w *wrapped) Error() string { return w.err.Error() }
func (w *wrapped) Unwrap() error { return w.err }

// KindOf returns who can end a failure of this package, of sources/cloud, component, oci, git, flux or fetch.
func KindOf(err error) Kind {
	var own *Error
	var marked *wrapped
	var source *flux.Error
	var identity *cloud.Error
	switch {
	case errors.As(err, &own):
		return own.Kind
	case errors.As(err, &identity) && !identity.Retry:
		return Stalled
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Retry
	case errors.As(err, &marked):
		return marked.kind
	case errors.As(err, &source):
		return sourceKind(source)
	case errors.Is(err, fetch.ErrGone):
		return Waiting
	}
	for _, permanent := range permanentErrors {
		if errors.Is(err, permanent) {
			return Stalled
		}
	}
	return Retry
}

func sourceKind(e *flux.Error) Kind {
	if e.Waiting {
		return Waiting
	}
	return Stalled
}

// permanentErrors are those that another try would only repeat.
var permanentErrors = []error{
	component.ErrNotFound,
	oci.ErrNotFound, oci.ErrUnauthorized, oci.ErrInvalid, oci.ErrTooLarge, oci.ErrDigest,
	git.ErrNotFound, git.ErrUnauthorized, git.ErrInvalid, git.ErrTooLarge,
	fetch.ErrDigest, fetch.ErrTooLarge, fetch.ErrUnsafe,
}

// missing reports whether the repository has no such component version, or hides it.
func missing(err error) bool {
	for _, absent := range []error{component.ErrNotFound, oci.ErrNotFound, oci.ErrUnauthorized, git.ErrNotFound} {
		if errors.Is(err, absent) {
			return true
		}
	}
	return false
}
