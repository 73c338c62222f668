// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/bench/rig"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// moment is when, with regard to a write, a program dies.
type moment string

const (
	// beforeWrite kills the program when its write has left it; the API server never sees the write.
	beforeWrite moment = "before"
	// afterWrite kills the program when its write has been carried out; the program never sees the answer.
	afterWrite moment = "after"
)

// gate stands between one program and the API servers. It counts the writes that the program sends, to whichever server, and kills it
// at the one that is armed.
type gate struct {
	mu      sync.Mutex
	program *rig.Program
	writes  int
	armed   int // the write to die at; 0 is none
	moment  moment
	fired   string // method and path of that write
	err     error
	between func() error  // what happens while the program is dead
	over    chan struct{} // closed when the program runs again
}

// arm forgets all writes so far and lets the program die at write number n from now on; 0 lets it live.
func (g *gate) arm(n int, at moment) { g.armWith(n, at, func() error { return nil }) }

// armWith is arm with something that happens between the death of the program and its restart.
func (g *gate) armWith(n int, at moment, between func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.writes, g.armed, g.moment, g.fired, g.between, g.over = 0, n, at, "", between, make(chan struct{})
}

// settle lets the program live from now on and returns the write that it died at, or nothing. Then it is running again, and what was to
// happen between has happened in every case.
func (g *gate) settle() (fired string, err error) {
	g.mu.Lock()
	g.armed = 0
	fired, between, over := g.fired, g.between, g.over
	g.mu.Unlock()
	if fired == "" {
		return "", between()
	}
	<-over
	_, _, err = g.result()
	return fired, err
}

// result returns the write that the program died at, or nothing, and how many writes it has sent since arm.
func (g *gate) result() (fired string, writes int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.fired, g.writes, g.err
}

// due counts a write and tells whether the program dies at it, and when.
func (g *gate) due(r *http.Request) (moment, bool) {
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
func (g *gate) kill() {
	g.mu.Lock()
	between, over := g.between, g.over
	g.mu.Unlock()
	err := errors.Join(g.program.Kill9(), between(), g.program.Restart())
	close(over)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.err == nil {
		g.err = err
	}
}

// open returns access through the gate to what config reaches.
func (g *gate) open(s *stage, config *rest.Config) *rest.Config {
	s.t.Helper()
	return s.through(config, g.handler)
}

// through returns access to what config reaches, in which a handler may do something between.
func (s *stage) through(config *rest.Config, between func(http.Handler) http.Handler) *rest.Config {
	s.t.Helper()
	transport, err := rest.TransportFor(config)
	require.NoError(s.t, err)
	backend, err := url.Parse(config.Host)
	require.NoError(s.t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(backend) },
		Transport:     transport,
		FlushInterval: -1,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	server := httptest.NewUnstartedServer(between(proxy))
	server.EnableHTTP2 = true
	server.StartTLS()
	s.t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}
}

func (g *gate) handler(next http.Handler) http.Handler {
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
		if at == afterWrite {
			// The write goes through even if the connection of the program breaks; its answer goes nowhere.
			next.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		}
		g.kill()
		panic(http.ErrAbortHandler)
	})
}

// gates puts one gate before each program, and before the target for the deployers that share it, and returns kubeconfigs for them.
func (s *stage) gates(names []string) (map[string]*gate, map[string][]byte) {
	s.t.Helper()
	gates, kubeconfigs := map[string]*gate{}, map[string][]byte{}
	for _, name := range names {
		config, err := s.NewUser(name, rig.AllRights)
		require.NoError(s.t, err)
		gates[name] = &gate{}
		kubeconfigs[name], err = platform.KubeconfigFor(gates[name].open(s, config))
		require.NoError(s.t, err)
	}
	return gates, kubeconfigs
}
