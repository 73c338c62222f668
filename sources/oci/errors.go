// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// The kinds of failure that a caller may want to tell apart with errors.Is. Every other error is worth another try.
var (
	// ErrNotFound: the registry has no such repository, tag or digest, or hides it from these credentials.
	ErrNotFound = errors.New("not found in the registry")
	// ErrUnauthorized: the registry refuses these credentials, or wants some and there are none.
	ErrUnauthorized = errors.New("refused by the registry")
	// ErrDigest: the content received is not the content of its digest.
	ErrDigest = errors.New("digest mismatch")
	// ErrTooLarge: a manifest or blob exceeds its limit.
	ErrTooLarge = errors.New("content too large")
	// ErrInvalid: the reference cannot be parsed, or the artifact is not of the kind asked for.
	ErrInvalid = errors.New("invalid reference or artifact")
)

// Error says which reference failed, what failed and what to do. It contains no credentials and no URL.
type Error struct {
	// Kind is one of the errors above, or nil if another try may succeed.
	Kind error
	// Ref is the reference as it was given.
	Ref string
	// Problem is the fact.
	Problem string
	// Cure is what a person can do.
	Cure string
	// Cause is the error underneath a failed request to be tried again, for errors.Is; it is no part of the message.
	Cause error
}

// Error returns reference, problem and cure as one sentence.
func (e *Error) Error() string { return fmt.Sprintf("%q: %s; %s", e.Ref, e.Problem, e.Cure) }

// Unwrap returns Kind and, where it is a context's, Cause.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

func invalid(ref, problem, cure string) error {
	return &Error{Kind: ErrInvalid, Ref: redactUserinfo(ref), Problem: problem, Cure: cure}
}

// explain turns an error of the registry client into an Error. doing says what was tried, such as "resolve the tag".
func (t target) explain(doing string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{Ref: t.written, Cause: contextError(err)}
	e.Cure, e.Kind = classify(err, t.login != auth.EmptyCredential)
	e.Problem = fmt.Sprintf("could not %s: %s", doing, t.hide(reason(err)))
	return e
}

// classify finds the cure of a failure and its kind.
func classify(err error, withLogin bool) (cure string, kind error) {
	var answer *errcode.ErrorResponse
	status := 0
	if errors.As(err, &answer) {
		status = answer.StatusCode
	}
	switch {
	case errors.Is(err, auth.ErrBasicCredentialNotFound), status == http.StatusUnauthorized, status == http.StatusForbidden:
		return loginCure(withLogin), ErrUnauthorized
	case errors.Is(err, errdef.ErrNotFound), status == http.StatusNotFound:
		return "check host, repository and tag; some registries also answer so without the right credentials", ErrNotFound
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, io.ErrUnexpectedEOF):
		return "it is tried again; if that does not help, push the artifact anew", ErrDigest
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return "make the artifact smaller or raise the limit of the controller", ErrTooLarge
	case errors.Is(err, errdef.ErrInvalidReference), errors.Is(err, errdef.ErrInvalidDigest):
		return "write it as host/repository:tag or host/repository@sha256:digest", ErrInvalid
	}
	return "it is tried again", nil
}

func loginCure(withLogin bool) string {
	if withLogin {
		return "correct the pull secret of this host and repository, or let its user read the repository"
	}
	return "add a pull secret with an entry for this host; none of the given secrets has one that fits"
}

// contextError returns the error of a context if that is what ended a request.
func contextError(err error) error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return nil
}

// reason is the part of err that a person needs.
func reason(err error) string {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		return answered(answer)
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err.Error()
	}
	return err.Error()
}

func answered(a *errcode.ErrorResponse) string {
	text := http.StatusText(a.StatusCode)
	if len(a.Errors) > 0 {
		text = a.Errors.Error()
	}
	const most = 300
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return fmt.Sprintf("the registry answers %d (%s)", a.StatusCode, text)
}

var (
	anyURL   = regexp.MustCompile(`https?://[^\s"]+`)
	userinfo = regexp.MustCompile(`^([a-z]+://)?[^/@]*@`)
)

// hide removes URLs, whose query may be a signature, and whatever the login consists of, should a server repeat it.
func (t target) hide(text string) string {
	text = anyURL.ReplaceAllString(text, "<url>")
	for _, secret := range []string{t.login.Password, t.login.RefreshToken, t.login.AccessToken} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "<hidden>")
		}
	}
	return text
}

// redactUserinfo hides "user:password@" before the host of a reference that somebody wrote like a URL.
func redactUserinfo(ref string) string {
	return userinfo.ReplaceAllString(ref, "${1}<hidden>@")
}
