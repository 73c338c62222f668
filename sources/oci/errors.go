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

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
	"github.com/flux-landscaper/flux-landscaper/sources/address"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/internal/transport"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/store"
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
	return &Error{Kind: ErrInvalid, Ref: keychain.HideUser(ref), Problem: problem, Cure: cure}
}

// explain turns an error of the registry client into an Error. doing says what was tried, such as "resolve it"; ctx is the
// one it was tried with.
func (t target) explain(ctx context.Context, doing string, err error) error {
	var known *Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	err = ended(ctx, err)
	e := &Error{Ref: keychain.HideUser(t.written), Cause: contextError(err)}
	e.Cure, e.Kind = t.classify(err)
	e.Problem = fmt.Sprintf("could not %s: %s", doing, t.hide(t.reason(err)))
	return e
}

// classify finds the cure of a failure and its kind.
func (t target) classify(err error) (cure string, kind error) {
	switch {
	case notLoggedIn(err):
		return "check what it may do in its cloud and at this registry; it is tried again", nil
	case errors.Is(err, address.ErrPrivate):
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
	case errors.Is(err, context.DeadlineExceeded), transport.Interrupted(err), down(err):
		return "check that the registry runs and can be reached; it is tried again"
	}
	return "check what answers at the registry's address; it is tried again"
}

// status is the HTTP status of a registry's answer, 0 if there was none.
func status(err error) int {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

func unauthorized(err error) bool {
	code := status(err)
	return code == http.StatusUnauthorized || code == http.StatusForbidden || errors.Is(err, auth.ErrBasicCredentialNotFound)
}

// notLoggedIn reports whether an identity could not obtain a login.
func notLoggedIn(err error) bool { return errors.As(err, new(*keychain.IdentityError)) }

// refused reports whether the registry has decided that the caller cannot have it.
func refused(err error) bool {
	return unauthorized(err) || errors.Is(err, errdef.ErrNotFound) || status(err) == http.StatusNotFound
}

// mismatch is how the registry client names headers that contradict a descriptor; those errors have no type.
var mismatch = regexp.MustCompile(`\bmismatch\b`)

func wrongContent(err error) bool {
	for _, wrong := range []error{store.ErrDigest, store.ErrLonger, store.ErrShorter, content.ErrMismatchedDigest, content.ErrTrailingData} {
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
	case transport.Interrupted(err), errors.Is(err, context.DeadlineExceeded), errors.As(err, &unknown):
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
func (t target) reason(err error) string {
	var answer *errcode.ErrorResponse
	if errors.As(err, &answer) {
		return t.answered(answer)
	}
	var limit *timeoutError
	if errors.As(err, &limit) {
		return limit.Error()
	}
	var identity *keychain.IdentityError
	if errors.As(err, &identity) {
		return identity.Error()
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err.Error()
	}
	return err.Error()
}

// answered says what a registry answered. What it repeats of a login is hidden before the text is cut, so that no part of it is left.
func (t target) answered(a *errcode.ErrorResponse) string {
	text := http.StatusText(a.StatusCode)
	if len(a.Errors) > 0 {
		text = a.Errors.Error()
	}
	return fmt.Sprintf("the registry answers %d (%s)", a.StatusCode, beginning.Of(t.hide(text), 300))
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
