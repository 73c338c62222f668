// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// The classes of a *fault.Error of this package, whose subject is the repository, without user information and query. Every other error is worth
// another try, and may have one of a context or of Options.Transport in its chain.
var (
	// ErrNotFound: there is no such repository, ref, commit or path.
	ErrNotFound = fault.Class(fault.Stalled, "not found in the Git repository")
	// ErrUnauthorized: the server refuses the login, or wants one and there is none.
	ErrUnauthorized = fault.Class(fault.Stalled, "refused by the Git server")
	// ErrInvalid: the location cannot be used, or the server sent what is not a Git.
	ErrInvalid = fault.Class(fault.Stalled, "invalid Git location or content")
	// ErrTooLarge: the repository exceeds a limit of Options.
	ErrTooLarge = fault.Class(fault.Stalled, "too large for a Git repository")
)

func fail(class error, at Location, problem, cure string) error {
	return &fault.Error{Class: class, Subject: at.subject(), Problem: problem, Cure: cure}
}

func (at Location) subject() string { return fmt.Sprintf("Git repository %q", at.shown()) }

// explain turns an error of the Git library into a *fault.Error. doing says what was tried.
func explain(at Location, doing string, err error) error {
	if err == nil || errors.As(err, new(*fault.Error)) {
		return err
	}
	e := &fault.Error{Subject: at.subject(), Problem: "could not " + doing, Cure: "it is tried again"}
	switch status := answered(err); {
	case errors.Is(err, errManyRefs):
		e.Class, e.Problem, e.Cure = ErrTooLarge, fmt.Sprintf("the server lists more than %d MiB of refs", maxRefs>>20), "delete branches and tags that nobody needs, hide others on the server (transfer.hideRefs), or use a repository with fewer"
	case errors.Is(err, errTooLarge):
		e.Class, e.Problem, e.Cure = ErrTooLarge, doing+" needs more bytes or objects than allowed", "use a smaller repository or raise the limit of the controller"
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		e.Class, e.Problem, e.Cure = ErrUnauthorized, "the server refuses to "+doing, at.loginCure()
	case errors.Is(err, transport.ErrRepositoryNotFound):
		e.Class, e.Problem, e.Cure = ErrNotFound, "there is no such repository", "check the URL; some servers also answer so without a login"
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		e.Class, e.Problem, e.Cure = ErrNotFound, "the repository has no commit", "push one"
	case status != 0:
		e.Problem += fmt.Sprintf(": the server answers %d", status)
	case fault.EndOf(err) != nil:
		e.Cause = fault.EndOf(err)
		e.Problem += ": it took too long or was stopped"
	default:
		e.Cause = err
		e.Problem += ": " + at.hide(fault.WithoutURL(err).Error())
	}
	return e
}

// answered returns the status of an unexpected answer, or 0.
func answered(err error) int {
	if unexpected, ok := errors.AsType[*plumbing.UnexpectedError](err); ok {
		err = unexpected.Err
	}
	var answer *githttp.Err
	if errors.As(err, &answer) && answer.Response != nil && answer.StatusCode() != http.StatusOK {
		return answer.StatusCode()
	}
	return 0
}
