// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

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
	errSilent   = errors.New("the server did not answer in time; check the address of the Target and the server behind it")
	errSlow     = errors.New("the server did not send the whole answer in time")
	errLarge    = errors.New("the answer of the server is too large")
	errCrowded  = errors.New("the answers that are read at the same time are too large together, and this server has the largest of them")
	errRedirect = errors.New("the server redirects, which is not followed; put the address of the API server itself into the Target")
	errForeign  = errors.New("the answer of the server is not a Kubernetes object; check the address of the Target")
	errPrivate  = errors.New("the address of the server is not public, and the operator allows public ones only")
)

// IsUnusable reports whether a request failed because of what the server is, so that only another Target or another server helps.
func IsUnusable(err error) bool {
	return errors.Is(err, errLarge) || errors.Is(err, errRedirect) || errors.Is(err, errForeign) || errors.Is(err, address.ErrPrivate)
}

// concealed is an error whose text may quote what a server sent; only its kind is shown.
type concealed struct {
	shown string
	cause error
}

// Error returns what may be shown.
func (c *concealed) Error() string { return c.shown }

// Unwrap returns the cause.
func (c *concealed) Unwrap() error { return c.cause }

// speakable returns the error to report for a request that failed. Errors of the network, of TLS and of the context are as they are; the
// text of others may quote the server and is not shown.
func speakable(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errSilent), errors.Is(cause, errSlow), errors.Is(cause, errCrowded), errors.Is(cause, errLarge):
		return cause
	case errors.Is(err, address.ErrPrivate):
		return &concealed{shown: errPrivate.Error(), cause: err}
	case isOwn(err) || quotesNothing(err):
		return err
	}
	return &concealed{shown: "the server does not speak the protocol of API servers", cause: err}
}

func isOwn(err error) bool {
	var problem *Error
	return errors.As(err, &problem)
}

func quotesNothing(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	var network net.Error
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &network) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verification) || errors.As(err, &authority) {
		return true
	}
	return strings.HasPrefix(err.Error(), "tls: ") || strings.HasPrefix(err.Error(), "http2: ") && !strings.Contains(err.Error(), "GOAWAY") ||
		strings.HasPrefix(err.Error(), "http: server ")
}
