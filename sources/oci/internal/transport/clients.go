// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/utils/lru"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

const (
	// mostHeaderWait limits the time from a request to its answer, so that a hanging registry leaves time for another try.
	mostHeaderWait = 15 * time.Second
	// rememberedAuthorities is for how many certificate authorities of credentials connections are kept.
	rememberedAuthorities = 64
)

// Clients hold an HTTP client for each set of certificate authorities, so that the one of a tenant is trusted for
// nobody else.
type Clients struct {
	policy  egress.Policy
	base    http.RoundTripper
	pool    *x509.CertPool
	plain   *http.Client
	special *lru.Cache // of *http.Client by the hash of its authorities
}

// Options configure Clients.
type Options struct {
	// Transport carries the requests; nil means connections of the package's own, to public addresses alone where PublicOnly says so.
	Transport  http.RoundTripper
	PublicOnly bool
	// CA holds further certificate authorities, PEM-encoded, beside those of the system.
	CA []byte
	// Timeout is that of a whole call; a single answer may take a part of it.
	Timeout time.Duration
}

// New makes Clients. It fails if the authorities cannot be read.
func New(o Options) (*Clients, error) {
	t := &Clients{
		base: o.Transport,
		policy: egress.Policy{
			PublicOnly: o.PublicOnly, Redirects: egress.MostRedirects, Plain: true, Header: min(mostHeaderWait, o.Timeout/4), Stores: true,
		},
		special: lru.NewWithEvictionFunc(rememberedAuthorities, func(_ lru.Key, v any) { v.(*http.Client).CloseIdleConnections() }),
	}
	var err error
	if t.pool, err = x509.SystemCertPool(); err != nil {
		return nil, fmt.Errorf("registry client: read the certificate authorities of the system: %w", err)
	}
	if len(o.CA) > 0 && !t.pool.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("registry client: Options.CA holds no certificate; give PEM blocks of type CERTIFICATE")
	}
	t.plain = t.with(t.pool)
	return t, nil
}

// For returns the HTTP client that trusts the authorities ca beside the others.
func (t *Clients) For(ca []byte) *http.Client {
	if len(ca) == 0 {
		return t.plain
	}
	key := sha256.Sum256(ca)
	if found, ok := t.special.Get(key); ok {
		return found.(*http.Client)
	}
	pool := t.pool.Clone()
	pool.AppendCertsFromPEM(ca)
	made := t.with(pool)
	t.special.Add(key, made)
	return made
}

func (t *Clients) with(pool *x509.CertPool) *http.Client {
	policy := t.policy
	policy.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	sender := egress.New(policy)
	if t.base != nil {
		sender = egress.Over(t.base, policy)
	}
	return &http.Client{Transport: &retry.Transport{Base: sender, Policy: func() retry.Policy { return retryPolicy{} }}}
}

// Close ends idle connections.
func (t *Clients) Close() {
	t.plain.CloseIdleConnections()
	t.special.Clear()
}
