// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

const (
	headerTimeout = 10 * time.Second
	// answerTimeout is how long a request may take with its answer: finding the content, and sending it over a slow way.
	answerTimeout = 4 * time.Minute
	maxHeader     = 64 << 10
	shutdownTime  = 30 * time.Second
)

// Server serves a Handler over TLS. It has a certificate of its own making, since API servers do not look at those of the Services that they lead to.
type Server struct {
	address string
	handler http.Handler
	// bound is closed once the address is bound.
	bound chan struct{}
}

// NewServer returns a Server for an address; Start serves.
func NewServer(address string, handler http.Handler) *Server {
	return &Server{address: address, handler: handler, bound: make(chan struct{})}
}

// NeedLeaderElection returns false: every replica serves.
func (s *Server) NeedLeaderElection() bool { return false }

// Ready reports an error until the server can be reached.
func (s *Server) Ready(*http.Request) error {
	select {
	case <-s.bound:
		return nil
	default:
		return errors.New("the relay does not serve yet")
	}
}

// Start serves until the context ends, and then lets answers end that are under way.
func (s *Server) Start(ctx context.Context) error {
	certificate, key, err := certutil.GenerateSelfSignedCertKey("landscaper-relay", nil, nil)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return fmt.Errorf("make a certificate: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.address)
	if err != nil {
		return fmt.Errorf("bind %s: %w", s.address, err)
	}
	close(s.bound)
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTimeout, WriteTimeout: answerTimeout, IdleTimeout: answerTimeout,
		MaxHeaderBytes: maxHeader, TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
	}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
		defer cancel()
		stopped <- server.Shutdown(ending)
	}()
	if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}
