// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/sources/address"
)

var (
	// ErrSilent says that no answer began in time.
	ErrSilent error = lateError("the server did not answer in time; check its address and the server behind it")
	// ErrSlow says that an answer did not end in time.
	ErrSlow error = lateError("the server did not send the whole answer in time")
	// ErrLarge says that an answer is larger than one may be.
	ErrLarge = errors.New("the answer of the server is too large")
	// ErrRedirect says that the server answers with a redirect where none is followed.
	ErrRedirect = errors.New("the server redirects, which is not followed; name the address that it leads to")
	// ErrRedirects says that there are too many of them.
	ErrRedirects = errors.New("too many redirects; name the address that they lead to")
	// ErrDowngrade says that a redirect gives TLS up.
	ErrDowngrade = errors.New("a redirect leads from https to something else; name an https address")

	errRenewed = errors.New("the stream has to be asked for again")
)

// lateError is about a server that took too long, as network errors are: another try may help.
type lateError string

// Error returns the text.
func (e lateError) Error() string { return string(e) }

// Timeout makes it a net.Error that tells of a time.
func (e lateError) Timeout() bool { return true }

// Temporary is part of net.Error.
func (e lateError) Temporary() bool { return true }

// concealed is an error whose text may quote what a server sent; only its kind is shown.
type concealed struct{ cause error }

// Error returns what may be shown.
func (c *concealed) Error() string { return "the server does not speak HTTP as it has to" }

// Unwrap returns the cause.
func (c *concealed) Unwrap() error { return c.cause }

// speakable returns the error to report for a request that failed. Errors of the network, of TLS and of the context are as they are; the text of others may
// quote the server and is not shown.
func speakable(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRenewed):
		return io.EOF
	case errors.Is(cause, ErrSilent), errors.Is(cause, ErrSlow):
		return cause
	case quotesNothing(err):
		return err
	}
	return &concealed{cause: err}
}

func quotesNothing(err error) bool {
	for _, own := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, address.ErrPrivate, net.ErrClosed} {
		if errors.Is(err, own) {
			return true
		}
	}
	var network net.Error
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &network) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verification) || errors.As(err, &authority) {
		return true
	}
	text := err.Error()
	return strings.HasPrefix(text, "tls: ") || strings.HasPrefix(text, "http: server ") || strings.HasPrefix(text, "http2: ") && !strings.Contains(text, "GOAWAY") ||
		strings.HasPrefix(text, "unsupported protocol scheme")
}
