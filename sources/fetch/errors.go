// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// The classes of a *fault.Error of this package, whose subject is the artifact as Artifact.String names it: never by its URL, which may carry
// credentials. Every other error is worth another try.
var (
	// ErrDigest: no usable digest was given, or the content received is not the content of that digest.
	ErrDigest = fault.Class(fault.Stalled, "digest mismatch")
	// ErrTooLarge: the download, one file, the number of entries or the extracted whole exceeds a limit of Options.
	ErrTooLarge = fault.Class(fault.Stalled, "artifact too large")
	// ErrGone: the server does not have the artifact any more; the source is about to offer a newer one.
	ErrGone = fault.Class(fault.Waiting, "artifact gone")
	// ErrUnsafe: the archive is malformed, or holds an entry that a reader must never follow.
	ErrUnsafe = fault.Class(fault.Stalled, "unsafe archive")
)

func refuse(class error, artifact, problem, cure string) error {
	return &fault.Error{Class: class, Subject: artifact, Problem: problem, Cure: cure}
}

// verdictOf returns the error of this package in a chain, nil if there is none. Those about where a Content comes from are not.
func verdictOf(err error) *fault.Error {
	var found *fault.Error
	if errors.As(err, &found) && slices.Contains([]error{ErrDigest, ErrTooLarge, ErrGone, ErrUnsafe}, found.Class) {
		return found
	}
	return nil
}

// about returns the same verdict about another artifact of the same content.
func about(a Artifact, verdict *fault.Error) error {
	return refuse(verdict.Class, a.String(), verdict.Problem, verdict.Cure)
}
