// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

var (
	errAbsent = fault.Class(fault.Stalled, "not found")
	errGone   = fault.Class(fault.Waiting, "gone")
)

func TestErrorsJoinClassAndCause(t *testing.T) {
	err := error(&fault.Error{Class: errAbsent, Cause: context.DeadlineExceeded, Subject: "chart x", Problem: "it is not there", Cure: "publish it"})
	assert.ErrorIs(t, err, errAbsent)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.EqualError(t, err, "chart x: it is not there; publish it")
}

func TestKindOf(t *testing.T) {
	plain := errors.New("connection reset")
	for name, tc := range map[string]struct {
		err  error
		want fault.Kind
	}{
		"none":                      {nil, fault.Retry},
		"of another package":        {plain, fault.Retry},
		"without class":             {&fault.Error{Kind: fault.Stalled}, fault.Stalled},
		"to be tried again":         {&fault.Error{}, fault.Retry},
		"a class":                   {fmt.Errorf("x: %w", errGone), fault.Waiting},
		"of a class":                {&fault.Error{Class: errAbsent}, fault.Stalled},
		"of a class without kind":   {&fault.Error{Class: plain, Kind: fault.Waiting}, fault.Waiting},
		"marked":                    {fault.Of(fault.Stalled, plain), fault.Stalled},
		"the outermost counts":      {fault.Of(fault.Stalled, &fault.Error{Class: errGone}), fault.Stalled},
		"one of several":            {errors.Join(plain, errGone), fault.Waiting},
		"ended with its context":    {fault.Of(fault.Stalled, context.Canceled), fault.Retry},
		"took longer than it might": {&fault.Error{Class: errAbsent, Cause: context.DeadlineExceeded}, fault.Retry},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, fault.KindOf(tc.err)) })
	}
}

func TestBareErrorsNameNeitherURLNorPath(t *testing.T) {
	plain := errors.New("no such thing")
	assert.Equal(t, plain, fault.WithoutURL(fault.WithoutPath(plain)))
	assert.Equal(t, plain, fault.WithoutURL(fmt.Errorf("x: %w", &url.Error{Op: "Get", URL: "https://user:secret@host", Err: plain})))
	assert.Equal(t, plain, fault.WithoutPath(&fs.PathError{Op: "open", Path: "/machine", Err: plain}))
	assert.NoError(t, fault.WithoutURL(fault.WithoutPath(nil)))
}

// TestErrorsQuoteNoAnswer sends what servers say that speak something else than HTTP.
func TestErrorsQuoteNoAnswer(t *testing.T) {
	const said = "the secret of a private server"
	for name, answer := range map[string]string{
		"banner":       said + "\r\n",
		"SSH":          "SSH-2.0-" + said + "\r\n",
		"version":      "HTTP/" + said + " 200 OK\r\n\r\n",
		"status":       "HTTP/1.1 " + said + "\r\n\r\n",
		"first header": "HTTP/1.1 200 OK\r\n " + said + "\r\n\r\n",
		"header":       "HTTP/1.1 200 OK\r\n" + said + "\r\n\r\n",
		"length":       "HTTP/1.1 200 OK\r\nContent-Length: " + said + "\r\n\r\n",
		"lengths":      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: " + said + "\r\n\r\n",
		"encoding":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + said + "\r\n\r\n",
		"trailer":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Content-Length, " + said + "\r\n\r\n0\r\n" + said + "\r\n\r\n",
		"location":     "HTTP/1.1 302 Found\r\nLocation: http://[" + said + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			err := answerOf(t, answer)
			require.Error(t, err)
			for _, word := range []string{"secret", "private"} {
				assert.NotContains(t, err.Error(), word)
			}
		})
	}
}

func TestErrorsOfTheNetworkStay(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, err = http.Get("http://" + listener.Addr().String()) //nolint:bodyclose // there is none
	assert.ErrorContains(t, fault.WithoutURL(err), "connection refused")
	assert.ErrorIs(t, fault.WithoutURL(err), syscall.ECONNREFUSED)
}

// answerOf returns what is shown of a request that got the answer.
func answerOf(t *testing.T, answer string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(connection))
			_, _ = connection.Write([]byte(answer))
			_ = connection.Close()
		}
	}()
	response, err := http.Get("http://" + listener.Addr().String())
	if err != nil {
		return fault.WithoutURL(err)
	}
	defer func() { _ = response.Body.Close() }()
	if _, err = io.ReadAll(response.Body); err != nil {
		return fault.Unquoted(err)
	}
	return nil
}
