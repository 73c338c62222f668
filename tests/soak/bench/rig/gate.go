// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"
)

// Moment is when, with regard to a write, a program dies.
type Moment string

const (
	// BeforeWrite kills the program when its write has left it; the API server never sees the write.
	BeforeWrite Moment = "before"
	// AfterWrite kills the program when its write has been carried out; the program never sees the answer.
	AfterWrite Moment = "after"
)

// Gate stands between one program and the API servers. It counts the writes that the program sends, to whichever server, and kills it
// at the one that is armed.
type Gate struct {
	// Program dies and comes back; it is set before the gate is armed.
	Program *Program

	mu      sync.Mutex
	writes  int
	armed   int // the write to die at; 0 is none
	moment  Moment
	fired   string // method and path of that write
	err     error
	between func() error  // what happens while the program is dead
	over    chan struct{} // closed when the program runs again
}

// Arm forgets all writes so far and lets the program die at write number n from now on; 0 lets it live.
func (g *Gate) Arm(n int, at Moment) { g.ArmWith(n, at, func() error { return nil }) }

// ArmWith is Arm with something that happens between the death of the program and its restart.
func (g *Gate) ArmWith(n int, at Moment, between func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes, g.armed, g.moment, g.fired, g.between, g.over = 0, n, at, "", between, make(chan struct{})
}

// Settle lets the program live from now on and returns the write that it died at, or nothing. Then it is running again, and what was to
// happen between has happened in every case.
func (g *Gate) Settle() (fired string, err error) {
	g.mu.Lock()
	g.armed = 0
	fired, between, over := g.fired, g.between, g.over
	g.mu.Unlock()
	if fired == "" {
		return "", between()
	}
	<-over
	_, _, err = g.Result()
	return fired, err
}

// Result returns the write that the program died at, or nothing, and how many writes it has sent since Arm.
func (g *Gate) Result() (fired string, writes int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fired, g.writes, g.err
}

// due counts a write and reports whether the program dies at it, and when.
func (g *Gate) due(r *http.Request) (Moment, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes++
	if g.fired != "" || g.writes != g.armed {
		return "", false
	}
	g.fired = r.Method + " " + r.URL.Path
	return g.moment, true
}

// kill replaces the program by a new process.
func (g *Gate) kill() {
	g.mu.Lock()
	between, over := g.between, g.over
	g.mu.Unlock()
	err := errors.Join(g.Program.Kill9(), between(), g.Program.Restart())
	close(over)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.err == nil {
		g.err = err
	}
}

// Handler passes the requests of the program on.
func (g *Gate) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		at, due := g.due(r)
		if !due {
			next.ServeHTTP(w, r)
			return
		}
		if at == AfterWrite {
			// The write goes through even if the connection of the program breaks; its answer goes nowhere.
			next.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		}
		g.kill()
		panic(http.ErrAbortHandler)
	})
}

// Through returns access to what config reaches, in which a handler may do something between. Whoever calls it closes it in the end.
func Through(config *rest.Config, between func(http.Handler) http.Handler) (through *rest.Config, closeAll func(), err error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot reach %s: %w", config.Host, err)
	}
	backend, err := url.Parse(config.Host)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot reach %s: %w", config.Host, err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(backend) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewUnstartedServer(between(proxy))
	server.EnableHTTP2 = true
	server.StartTLS()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	closeAll = func() {
		server.CloseClientConnections()
		server.Close()
	}
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}, closeAll, nil
}
