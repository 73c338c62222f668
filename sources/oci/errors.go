// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
)

// The classes of a *fault.Error of this package, whose subject is the reference as it was given. It contains no credentials and no URL. Every other
// error is worth another try, and may have one of a context in its chain.
var (
	// ErrNotFound: the registry has no such repository, tag or digest, or hides it from these credentials.
	ErrNotFound = fault.Class(fault.Stalled, "not found in the registry")
	// ErrUnauthorized: the registry refuses these credentials, or wants some and there are none.
	ErrUnauthorized = fault.Class(fault.Stalled, "refused by the registry")
	// ErrDigest: the content received is not the content of its digest.
	ErrDigest = fault.Class(fault.Stalled, "digest mismatch")
	// ErrTooLarge: a manifest or blob exceeds its limit.
	ErrTooLarge = fault.Class(fault.Stalled, "content too large")
	// ErrInvalid: the reference cannot be parsed, or the artifact is not of the kind asked for.
	ErrInvalid = fault.Class(fault.Stalled, "invalid reference or artifact")
)

func fail(class error, ref, problem, cure string) error {
	return &fault.Error{Class: class, Subject: subject(ref), Problem: problem, Cure: cure}
}

func invalid(ref, problem, cure string) error { return fail(ErrInvalid, ref, problem, cure) }

func subject(ref string) string { return strconv.Quote(HideUser(ref)) }

// explain turns an error of the registry client into a *fault.Error. doing says what was tried, such as "resolve it"; ctx is the
// one it was tried with.
func (t target) explain(ctx context.Context, doing string, err error) error {
	if err == nil || errors.As(err, new(*fault.Error)) && !errors.Is(err, fetch.ErrDigest) {
		return err
	}
	err = ended(ctx, err)
	e := &fault.Error{Subject: subject(t.written), Cause: fault.EndOf(err)}
	e.Cure, e.Class = t.classify(err)
	e.Problem = fmt.Sprintf("could not %s: %s", doing, t.hide(t.reason(err)))
	return e
}

// ended returns why the context of a failed request ended, if that is the reason.
func ended(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
	}
	return err
}

// classify finds the cure of a failure and its class.
func (t target) classify(err error) (cure string, class error) {
	switch {
	case notLoggedIn(err):
		return "check what it may do in its cloud and at this registry; it is tried again", nil
	case egress.IsOfName(err):
		return "use a registry at a public address, or have the operator allow private ones; it is tried again", nil
	case errors.Is(err, egress.ErrPrivate):
		return "use a registry at a public address, or have the operator allow private ones", ErrInvalid
	case unauthorized(err):
		return t.loginCure(), ErrUnauthorized
	case refused(err):
		return "check host, repository and tag; some registries also answer so without the right credentials", ErrNotFound
	case wrongContent(err):
		return "it is tried again; if that does not help, push the artifact anew", ErrDigest
	case errors.Is(err, errdef.ErrSizeExceedsLimit), errors.Is(err, errdef.ErrTooManyPages), errors.Is(err, errTooManyTags):
		return "make it smaller or raise the limit of the controller", ErrTooLarge
	case errors.Is(err, errdef.ErrInvalidReference), errors.Is(err, errdef.ErrInvalidDigest):
		return "write it as host/repository:tag or host/repository@sha256:digest", ErrInvalid
	case errors.Is(err, syscall.ENOSPC):
		return "free or enlarge the disk of the cache", nil
	}
	return triedAgain(err), nil
}

// triedAgain says what a person can do beside waiting.
func triedAgain(err error) string {
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &untrusted):
		return "trust its authority with certificateAuthority in an OCM credential configuration; it is tried again"
	case errors.Is(err, context.DeadlineExceeded), interrupted(err), down(err):
		return "check that the registry runs and can be reached; it is tried again"
	}
	return "check what answers at the registry's address; it is tried again"
}

// status is the HTTP status of a registry's answer, 0 if there was none.
func status(err error) int {
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return answer.StatusCode
	}
	return 0
}

func unauthorized(err error) bool {
	code := status(err)
	return code == http.StatusUnauthorized || code == http.StatusForbidden || errors.Is(err, auth.ErrBasicCredentialNotFound)
}

// notLoggedIn reports whether an identity could not obtain a login.
func notLoggedIn(err error) bool { return errors.As(err, new(*IdentityError)) }

// refused reports whether the registry has decided that the caller cannot have it.
func refused(err error) bool {
	return unauthorized(err) || errors.Is(err, errdef.ErrNotFound) || status(err) == http.StatusNotFound
}

// mismatch is how the registry client names headers that contradict a descriptor; those errors have no type.
var mismatch = regexp.MustCompile(`\bmismatch\b`)

func wrongContent(err error) bool {
	for _, wrong := range []error{fetch.ErrDigest, errSize, content.ErrMismatchedDigest, content.ErrTrailingData} {
		if errors.Is(err, wrong) {
			return true
		}
	}
	return status(err) == 0 && mismatch.MatchString(err.Error())
}

// down reports whether the registry, or the way to it, is out of order: no connection, no answer in time, or a status of 5xx.
// Certificates that cannot be verified are something else.
func down(err error) bool {
	var unreachable *net.OpError
	var unknown *net.DNSError
	switch {
	case status(err) != 0:
		return status(err) >= http.StatusInternalServerError
	case errors.Is(err, context.Canceled):
		return false
	case interrupted(err), errors.Is(err, context.DeadlineExceeded), errors.As(err, &unknown):
		return true
	}
	return errors.As(err, &unreachable) && (unreachable.Op == "dial" || unreachable.Op == "read" || unreachable.Op == "write")
}

func (t target) loginCure() string {
	if identity := t.login.Identity(); identity != nil {
		return fmt.Sprintf("let %s read the repository", identity)
	}
	if !t.login.Anonymous() {
		return fmt.Sprintf("correct the login for this host and repository (%s), or let its user read the repository", t.hint)
	}
	if t.exposed {
		return fmt.Sprintf("remove http:// from the reference, or write it before the host of the login (%s): logins go without TLS only where they, or the operator, name the host as plain", t.hint)
	}
	return fmt.Sprintf("add a login for this host (%s); none of those given fits", t.hint)
}

// reason is the part of err that a person needs.
func (t target) reason(err error) string {
	if answer, ok := errors.AsType[*errcode.ErrorResponse](err); ok {
		return t.answered(answer)
	}
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal.Problem
	}
	if identity, ok := errors.AsType[*IdentityError](err); ok {
		return identity.Error()
	}
	return fault.WithoutURL(err).Error()
}

// answered says what a registry answered. What it repeats of a login is hidden before the text is cut, so that no part of it is left.
func (t target) answered(a *errcode.ErrorResponse) string {
	text := http.StatusText(a.StatusCode)
	if len(a.Errors) > 0 {
		text = a.Errors.Error()
	}
	return fmt.Sprintf("the registry answers %d (%s)", a.StatusCode, foreign.Beginning(t.hide(text), 300))
}

var anyURL = regexp.MustCompile(`https?://[^\s"]+`)

// header is what a login looks like in a request, and not "basic authentication": an upper case letter, a digit or a sign is in it.
var header = regexp.MustCompile(`(?i:\b(basic|bearer))\s+[a-z]*[A-Z0-9._~+/=-][A-Za-z0-9._~+/=-]*`)

// hide removes URLs, whose query may be a signature, and whatever the login consists of, should a server repeat it, also as it was sent.
func (t target) hide(text string) string {
	text = header.ReplaceAllString(anyURL.ReplaceAllString(text, "<url>"), "$1 <hidden>")
	for _, secret := range t.login.Secrets() {
		for _, form := range []string{secret, url.QueryEscape(secret), strings.Trim(strconv.Quote(secret), `"`)} {
			if form != "" {
				text = strings.ReplaceAll(text, form, "<hidden>")
			}
		}
	}
	return text
}
