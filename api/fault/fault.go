// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package fault is how errors about the world outside say what they are about, what is wrong, what a person can do, and who can end them.
package fault

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"regexp"
)

// Kind says who can end a failure.
type Kind int

// Kinds of failures.
const (
	// Retry failures go away by themselves: a network or a server is in trouble. The work is tried again with back-off.
	Retry Kind = iota
	// Waiting failures end with an event of another object.
	Waiting
	// Stalled failures need a person.
	Stalled
)

// Error is a failure. Its text never holds credentials.
type Error struct {
	// Kind says who can end it, unless Class does.
	Kind Kind
	// Class is the error by which errors.Is knows it; nil where nobody has to tell it from others.
	Class error
	// Subject is what failed.
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

// Unwrap returns Class and Cause where they are set.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Class, e.Cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

// FaultKind returns the Kind of the Class, and Kind where that has none.
func (e *Error) FaultKind() Kind {
	if class, ok := e.Class.(kinded); ok {
		return class.FaultKind()
	}
	return e.Kind
}

// kinded is an error that says who can end it.
type kinded interface {
	error
	FaultKind() Kind
}

type marked struct {
	error
	kind Kind
}

// FaultKind returns the mark.
func (m *marked) FaultKind() Kind { return m.kind }

// Unwrap returns the error without mark.
func (m *marked) Unwrap() error { return m.error }

// Of gives an error a Kind.
func Of(kind Kind, err error) error { return &marked{err, kind} }

// Class returns an error for errors.Is that gives every failure of it a Kind.
func Class(kind Kind, text string) error { return Of(kind, errors.New(text)) }

// KindOf returns the Kind of the outermost error of a chain that has one, and Retry where none has. What ended with its context is Retry, whatever
// came of that.
func KindOf(err error) Kind {
	known, ok := errors.AsType[kinded](err)
	if !ok || EndOf(err) != nil {
		return Retry
	}
	return known.FaultKind()
}

// EndOf returns the error of a context if that is what ended something, and else nil.
func EndOf(err error) error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return nil
}

// WithoutURL takes the URL, which may hold credentials, from an error of net/http, and what Unquoted takes. Others stay.
func WithoutURL(err error) error {
	if inURL, ok := errors.AsType[*url.Error](err); ok {
		return Unquoted(inURL.Err)
	}
	return err
}

// Unquoted takes from an error of net/http what it quotes of an answer that is no HTTP: that may come from a server which is not meant for whoever chose
// its address. Others stay.
func Unquoted(err error) error {
	if quotesAnswer.MatchString(err.Error()) {
		return &unquoted{err}
	}
	return err
}

// quotesAnswer matches the errors of net/http and net/textproto that quote a line, a header or a frame of an answer.
var quotesAnswer = regexp.MustCompile(`(?is)(malformed|Content-Length|transfer encoding|Location header|trailer|GOAWAY|header field|pseudo-header).*"`)

// unquoted is an error whose text is not shown.
type unquoted struct{ cause error }

// Error says as much as may be shown.
func (u *unquoted) Error() string { return "what answers there is no valid HTTP" }

// Unwrap returns the cause.
func (u *unquoted) Unwrap() error { return u.cause }

// WithoutPath takes the path on this machine from an error of a file system. Others stay.
func WithoutPath(err error) error {
	if inPath, ok := errors.AsType[*fs.PathError](err); ok {
		return inPath.Err
	}
	return err
}
