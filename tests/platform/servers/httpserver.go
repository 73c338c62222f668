// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// discardLog swallows what servers print about single requests; their answers say it to those who asked.
var discardLog = log.New(io.Discard, "", 0)

// A server is an HTTP server of this process on a free loopback port.
type server struct {
	address string
	down    atomic.Bool // answer 503
	http    *http.Server
	ended   chan error
}

func serveHTTP(handler http.Handler) (*server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(programs.Loopback, "0"))
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w", programs.Loopback, err)
	}
	s := &server{address: listener.Addr().String(), ended: make(chan error, 1)}
	s.http = &http.Server{ErrorLog: discardLog, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.down.Load() {
			http.Error(w, "made unavailable by the test", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	})}
	go func() { s.ended <- s.http.Serve(listener) }()
	return s, nil
}

func (s *server) stop() error {
	err := s.http.Close()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
