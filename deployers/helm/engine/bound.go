// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// bound is a round tripper whose requests end with an operation. Helm's actions keep going in the background after their context has
// ended; with bound they can no longer do anything there.
type bound struct {
	operation context.Context
	next      http.RoundTripper
}

// RoundTrip sends the request unless the operation has ended, and aborts it when the operation ends before the body is read.
func (b *bound) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.operation.Err() != nil {
		return nil, context.Cause(b.operation)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	stop := context.AfterFunc(b.operation, func() { cancel(context.Cause(b.operation)) })
	release := sync.OnceFunc(func() { stop(); cancel(nil) })
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	response.Body = &boundBody{ReadCloser: response.Body, release: release}
	return response, nil
}

// boundBody gives back the resources of a bound request when it is closed.
type boundBody struct {
	io.ReadCloser
	release func()
}

// Close closes the body.
func (b *boundBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
