// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// recorder is a response of which the connection has a deadline.
type recorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

// SetReadDeadline is called by http.ResponseController.
func (r *recorder) SetReadDeadline(at time.Time) error {
	r.deadline = at
	return nil
}

// send sends a body of a declared size, and returns the code of the answer.
func send(handler http.Handler, size int64) int {
	request := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	request.ContentLength = size
	answer := &recorder{ResponseRecorder: httptest.NewRecorder()}
	handler.ServeHTTP(answer, request)
	return answer.Code
}

func TestBodiesHaveLittleMemoryTogether(t *testing.T) {
	for name, size := range map[string]int64{"declared": maxBody, "of unknown length": -1, "of any length": 1 << 40} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, answered := context.WithCancel(t.Context())
				reading, codes := 0, make(chan int, 60)
				bodies := newBodies()
				handler := bounded{bodies, bodyTime, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
					reading++
					<-ctx.Done()
				})}
				for range 60 {
					go func() { codes <- send(handler, size) }()
					synctest.Wait()
				}
				assert.Equal(t, 9, reading)
				for range 51 {
					assert.Equal(t, http.StatusServiceUnavailable, <-codes)
				}
				answered()
				for range 9 {
					assert.Equal(t, http.StatusOK, <-codes)
				}
				assert.True(t, bodies.TryAcquire(64<<20))
			})
		})
	}
}

func TestARequestIsAnsweredWhileTheProcessEnds(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ended, http.MethodPost, "/", http.NoBody)
	answer := &recorder{ResponseRecorder: httptest.NewRecorder()}
	bounded{newBodies(), bodyTime, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}.ServeHTTP(answer, request)
	assert.Equal(t, http.StatusOK, answer.Code)
}

func TestABodyThatStopsEnds(t *testing.T) {
	read := make(chan error, 1)
	server := httptest.NewServer(bounded{newBodies(), time.Millisecond, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		read <- err
	})})
	defer server.Close()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: webhooks\r\nContent-Length: 1000\r\n\r\nbegin")
	require.NoError(t, err)
	require.ErrorIs(t, <-read, os.ErrDeadlineExceeded)
}

func TestEveryWebhookIsBounded(t *testing.T) {
	server := New(Options{Kinds: kinds}).Server(0).(*webhook.DefaultServer)
	for _, kind := range kinds {
		request := httptest.NewRequest(http.MethodPost, kind.path(), http.NoBody)
		answer := &recorder{ResponseRecorder: httptest.NewRecorder()}
		server.WebhookMux().ServeHTTP(answer, request)
		assert.False(t, answer.deadline.IsZero(), kind.plural)
	}
}

// TestWhatCannotBeLimitedIsNotRead has an answer without a connection.
func TestWhatCannotBeLimitedIsNotRead(t *testing.T) {
	answer := httptest.NewRecorder()
	body := strings.NewReader("body")
	bounded{newBodies(), bodyTime, http.NotFoundHandler()}.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", io.NopCloser(body)))
	assert.Equal(t, http.StatusInternalServerError, answer.Code)
	assert.Equal(t, 4, body.Len())
}
