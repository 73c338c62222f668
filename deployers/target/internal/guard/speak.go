// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

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
	ErrSilent = errors.New("the server did not answer in time; check the address of the Target and the server behind it")
	// ErrSlow says that an answer did not end in time.
	ErrSlow = errors.New("the server did not send the whole answer in time")
	// ErrLarge says that an answer is larger than one may be.
	ErrLarge = errors.New("the answer of the server is too large")
	// ErrCrowded says that an answer was given up in favour of others.
	ErrCrowded = errors.New("the answers that are read at the same time are too large together, and this server has the largest of them")
	// ErrRedirect says that the server answers with a redirect.
	ErrRedirect = errors.New("the server redirects, which is not followed; put the address of the API server itself into the Target")
	// ErrForeign says that an answer is not one of an API server.
	ErrForeign = errors.New("the answer of the server is not the Kubernetes object that it was asked for; check the address of the Target")
	// ErrUnasked says that a server sends what belongs to no answer.
	ErrUnasked = errors.New("the server sends much that it was not asked for; check the address of the Target and the server behind it")
	errPrivate = errors.New("the address of the server is not public, or its host does not exist, and the operator allows public ones only")
)

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
	case errors.Is(cause, ErrSilent), errors.Is(cause, ErrSlow), errors.Is(cause, ErrCrowded), errors.Is(cause, ErrLarge):
		return cause
	case errors.Is(err, ErrUnasked):
		return ErrUnasked
	case errors.Is(err, address.ErrPrivate):
		return &concealed{shown: errPrivate.Error(), cause: err}
	case quotesNothing(err):
		return err
	}
	return &concealed{shown: "the server does not speak the protocol of API servers", cause: err}
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
