// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/stretchr/testify/require"
)

// Options say what a registry demands.
type Options struct {
	// TLS serves HTTPS with the certificate of CA.
	TLS bool
	// Users are asked for; nobody is if it is empty.
	Users []User
	// Admits accepts further users by name and password.
	Admits func(name, password string) bool
	// Token makes the registry demand bearer tokens, which its own token server gives to Users. Without it they log in by
	// basic authentication.
	Token bool
	// Public are the repositories that anybody may read, Users or not.
	Public []string
	// Faults are as of the first request; Break changes them.
	Faults []Fault
}

// User may read and write everything, or the Repositories.
type User struct {
	Name, Password string
	// IdentityToken is accepted by the token server in place of name and password.
	IdentityToken string
	// Repositories limits the user, unless it is empty.
	Repositories []string
}

// Request is one request that a registry has received.
type Request struct {
	Method string
	// Repository, such as "charts/web".
	Repository string
	// Kind is "manifests", "blobs", "tags", "uploads" or "token"; empty for the root of the API.
	Kind string
	// Reference is a tag or digest.
	Reference string
	// User is who was logged in; empty for nobody.
	User string
}

// Registry is a running registry.
type Registry struct {
	// Host is "127.0.0.1:port".
	Host string
	// CA is the certificate authority to trust, PEM-encoded; empty without TLS.
	CA []byte

	options Options
	backend http.Handler
	tokens  *tokens
	stopped chan struct{}

	mu       sync.Mutex
	server   *http.Server
	tls      *tls.Config
	faults   []Fault
	requests []Request
}

// Start starts a registry that ends with the test.
func Start(t testing.TB, o Options) *Registry {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &Registry{Host: listener.Addr().String(), options: o, faults: o.Faults, stopped: make(chan struct{}), tokens: newTokens(),
		backend: registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))}
	if o.TLS {
		r.certify()
	}
	r.serve(listener)
	t.Cleanup(func() {
		close(r.stopped)
		r.Down()
	})
	return r
}

// certify borrows the certificate of Go's own test server, which is valid for 127.0.0.1.
func (r *Registry) certify() {
	lender := httptest.NewTLSServer(http.NotFoundHandler())
	defer lender.Close()
	r.tls = &tls.Config{Certificates: slices.Clone(lender.TLS.Certificates), MinVersion: tls.VersionTLS12}
	r.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: lender.Certificate().Raw})
}

func (r *Registry) serve(listener net.Listener) {
	if r.tls != nil {
		listener = tls.NewListener(listener, r.tls)
	}
	//nolint:gosec // A test server on loopback needs no time limits.
	server := &http.Server{Handler: http.HandlerFunc(r.handle), ErrorLog: log.New(io.Discard, "", 0)}
	r.mu.Lock()
	r.server = server
	r.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
}

// Down closes the port and every connection: who asks is refused.
func (r *Registry) Down() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.server.Close()
}

// Up serves again at the same address with the same content.
func (r *Registry) Up(t testing.TB) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", r.Host)
	require.NoError(t, err)
	r.serve(listener)
}

// Break replaces the faults; none means none.
func (r *Registry) Break(faults ...Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = faults
}

// URL is the scheme and host, such as "https://127.0.0.1:5000".
func (r *Registry) URL() string {
	if r.options.TLS {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Ref is the reference of an artifact: "127.0.0.1:port/repository:tag".
func (r *Registry) Ref(repository, tag string) string { return r.Host + "/" + repository + ":" + tag }

// Requests returns what was received so far, refused requests included.
func (r *Registry) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Count counts the requests of a method and kind, such as "GET", "blobs".
func (r *Registry) Count(method, kind string) (n int) {
	for _, request := range r.Requests() {
		if request.Method == method && request.Kind == kind {
			n++
		}
	}
	return n
}

// Forget empties the record of requests.
func (r *Registry) Forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

func (r *Registry) handle(w http.ResponseWriter, request *http.Request) {
	what := parse(request)
	user, known := r.identify(request)
	what.User = user.Name
	r.mu.Lock()
	r.requests = append(r.requests, what)
	faults := r.faults
	r.mu.Unlock()
	for _, fault := range faults {
		if fault(r, w, request) {
			return
		}
	}
	switch {
	case what.Kind == "token":
		r.giveToken(w, request)
	case !r.allowed(what, user, known):
		r.challenge(w, what)
	default:
		r.backend.ServeHTTP(w, request)
	}
}

// parse splits /v2/<repository>/<kind>/<reference> as the OCI distribution specification defines it.
func parse(request *http.Request) Request {
	what := Request{Method: request.Method}
	if request.URL.Path == tokenPath {
		what.Kind = "token"
		return what
	}
	parts := strings.Split(strings.Trim(strings.TrimPrefix(request.URL.Path, "/v2"), "/"), "/")
	for i, part := range slices.Backward(parts) {
		switch part {
		case "manifests", "blobs", "tags", "referrers", "uploads":
			what.Repository = strings.TrimSuffix(strings.Join(parts[:i], "/"), "/blobs")
			what.Kind, what.Reference = part, strings.Join(parts[i+1:], "/")
			return what
		}
	}
	return what
}
