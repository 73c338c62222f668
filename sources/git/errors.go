// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// The kinds of failure that a caller may want to tell apart with errors.Is. Every other error is worth another try.
var (
	// ErrNotFound: there is no such repository, ref, commit or path.
	ErrNotFound = errors.New("not found in the Git repository")
	// ErrUnauthorized: the server refuses the login, or wants one and there is none.
	ErrUnauthorized = errors.New("refused by the Git server")
	// ErrInvalid: the location cannot be used, or the server sent what is not a Git.
	ErrInvalid = errors.New("invalid Git location or content")
	// ErrTooLarge: the repository exceeds a limit of Options.
	ErrTooLarge = errors.New("too large for a Git repository")
)

// Error says which repository failed, what failed and what to do. It contains no login.
type Error struct {
	// Kind is one of the errors above, or nil if another try may succeed.
	Kind error
	// URL of the repository, without user information and query.
	URL string
	// Problem is the fact.
	Problem string
	// Cure is what a person can do.
	Cure string
	// Cause is the error of a context or of Options.Transport that ended the call, for errors.Is; it is no part of the message.
	Cause error
}

// Error returns repository, problem and cure as one sentence.
func (e *Error) Error() string {
	return fmt.Sprintf("Git repository %q: %s; %s", e.URL, e.Problem, e.Cure)
}

// Unwrap returns Kind and Cause where they are set.
func (e *Error) Unwrap() []error {
	var all []error
	for _, err := range []error{e.Kind, e.Cause} {
		if err != nil {
			all = append(all, err)
		}
	}
	return all
}

func fail(kind error, at Location, problem, cure string) error {
	return &Error{Kind: kind, URL: at.shown(), Problem: problem, Cure: cure}
}

// explain turns an error of the Git library into an Error. doing says what was tried.
func explain(at Location, doing string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	e := &Error{URL: at.shown(), Problem: "could not " + doing, Cure: "it is tried again"}
	switch status := answered(err); {
	case errors.Is(err, errTooLarge):
		e.Kind, e.Problem, e.Cure = ErrTooLarge, doing+" needs more bytes or objects than allowed", "use a smaller repository or raise the limit of the controller"
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		e.Kind, e.Problem, e.Cure = ErrUnauthorized, "the server refuses to "+doing, at.loginCure()
	case errors.Is(err, transport.ErrRepositoryNotFound):
		e.Kind, e.Problem, e.Cure = ErrNotFound, "there is no such repository", "check the URL; some servers also answer so without a login"
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		e.Kind, e.Problem, e.Cure = ErrNotFound, "the repository has no commit", "push one"
	case status != 0:
		e.Problem += fmt.Sprintf(": the server answers %d", status)
	case ended(err) != nil:
		e.Cause = ended(err)
		e.Problem += ": it took too long or was stopped"
	default:
		e.Cause = err
		e.Problem += ": " + at.hide(reason(err))
	}
	return e
}

// answered returns the status of an unexpected answer, or 0.
func answered(err error) int {
	var unexpected *plumbing.UnexpectedError
	if errors.As(err, &unexpected) {
		err = unexpected.Err
	}
	var answer *githttp.Err
	if errors.As(err, &answer) && answer.Response != nil && answer.StatusCode() != http.StatusOK {
		return answer.StatusCode()
	}
	return 0
}

// ended returns the error of a context if that is what ended a request.
func ended(err error) error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return nil
}

// reason drops the URL that net/http puts into its errors.
func reason(err error) string {
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err.Error()
	}
	return err.Error()
}
