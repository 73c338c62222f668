// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import "errors"

// The kinds of failure that a caller may want to tell apart with errors.Is. Every other error is worth another try.
var (
	// ErrDigest: no usable digest was given, or the content received is not the content of that digest.
	ErrDigest = errors.New("digest mismatch")
	// ErrTooLarge: the download, one file, the number of entries or the extracted whole exceeds a limit of Options.
	ErrTooLarge = errors.New("artifact too large")
	// ErrGone: the server does not have the artifact any more; the source is about to offer a newer one.
	ErrGone = errors.New("artifact gone")
	// ErrUnsafe: the archive is malformed, or holds an entry that a reader must never follow.
	ErrUnsafe = errors.New("unsafe archive")
)

// Error says which artifact failed, what is wrong with it and what to do. It never contains the URL, which may carry
// credentials.
type Error struct {
	// Kind is ErrDigest, ErrTooLarge, ErrGone or ErrUnsafe.
	Kind error
	// Artifact names the artifact as Artifact.String does.
	Artifact string
	// Problem is the fact, naming the entry or field.
	Problem string
	// Cure is what a person or the source has to do.
	Cure string
}

// Error returns artifact, problem and cure as one sentence.
func (e *Error) Error() string {
	return e.Artifact + ": " + e.Problem + "; " + e.Cure
}

// Unwrap returns Kind.
func (e *Error) Unwrap() error { return e.Kind }

// of returns the same verdict about another artifact of the same content.
func (e *Error) of(a Artifact) *Error {
	c := *e
	c.Artifact = a.String()
	return &c
}
