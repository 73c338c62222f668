// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"syscall"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

const (
	// mostHeaderWait limits the time from a request to its answer, so that a hanging registry leaves time for another try.
	mostHeaderWait = 15 * time.Second
	// rememberedAuthorities is for how many certificate authorities of credentials connections are kept.
	rememberedAuthorities = 64
)

// clients hold an HTTP client for each set of certificate authorities, so that the one of a tenant is trusted for
// nobody else.
type clients struct {
	policy  egress.Policy
	base    http.RoundTripper
	pool    *x509.CertPool
	plain   *http.Client
	special *lru.Cache[[sha256.Size]byte, *http.Client] // by the hash of its authorities
}

// newClients fails if the authorities cannot be read.
func newClients(o Options) (*clients, error) {
	t := &clients{
		base: o.Transport,
		policy: egress.Policy{
			PublicOnly: o.PublicOnly, Redirects: egress.MostRedirects, Plain: true, Header: min(mostHeaderWait, o.Timeout/4), Stores: true,
		},
	}
	var err error
	t.special, err = lru.NewWithEvict(rememberedAuthorities, func(_ [sha256.Size]byte, unused *http.Client) { unused.CloseIdleConnections() })
	if err != nil {
		return nil, err
	}
	if t.pool, err = x509.SystemCertPool(); err != nil {
		return nil, fmt.Errorf("registry client: read the certificate authorities of the system: %w", err)
	}
	if len(o.CA) > 0 && !t.pool.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("registry client: Options.CA holds no certificate; give PEM blocks of type CERTIFICATE")
	}
	t.plain = t.with(t.pool)
	return t, nil
}

// trusting returns the HTTP client that trusts the authorities ca beside the others.
func (t *clients) trusting(ca []byte) *http.Client {
	if len(ca) == 0 {
		return t.plain
	}
	key := sha256.Sum256(ca)
	if found, ok := t.special.Get(key); ok {
		return found
	}
	pool := t.pool.Clone()
	pool.AppendCertsFromPEM(ca)
	made := t.with(pool)
	t.special.Add(key, made)
	return made
}

func (t *clients) with(pool *x509.CertPool) *http.Client {
	policy := t.policy
	policy.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	sender := egress.New(policy)
	if t.base != nil {
		sender = egress.Over(t.base, policy)
	}
	return &http.Client{Transport: &retry.Transport{Base: sender, Policy: func() retry.Policy { return requestPolicy{} }}}
}

// close ends idle connections.
func (t *clients) close() {
	t.plain.CloseIdleConnections()
	t.special.Purge()
}

// Tries within a call bridge a hiccup; longer trouble is left to the back-off of the controller.
const (
	requestTries = 4
	// transferTries is how often a transfer that broke in the middle is begun anew.
	transferTries = 3
	// retryDelay doubles with each try.
	retryDelay = 60 * time.Millisecond
)

// backoff is exponential, with jitter that keeps a thousand callers apart, unless a registry asks for a pause.
var backoff = retry.ExponentialBackoff(retryDelay, 2, 0.25)

// requestPolicy decides about single requests. It implements retry.Policy.
type requestPolicy struct{}

// Retry returns how long to wait, negative for no further try.
func (requestPolicy) Retry(attempt int, answer *http.Response, err error) (time.Duration, error) {
	again := interrupted(err)
	if err == nil {
		again, _ = retry.DefaultPredicate(answer, nil)
	}
	if attempt >= requestTries || !again {
		return -1, nil
	}
	pause := backoff(attempt, answer)
	if answer != nil {
		if end, ok := answer.Request.Context().Deadline(); ok && time.Until(end) < pause {
			return -1, nil // the answer says more than a timeout would
		}
	}
	return pause, nil
}

// interrupted tells, with false for nil, whether err is one of a connection that broke or did not answer, where the next may be better.
func interrupted(err error) bool {
	for _, broken := range []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, broken) {
			return true
		}
	}
	var timing net.Error
	return errors.As(err, &timing) && timing.Timeout() && !errors.Is(err, context.DeadlineExceeded)
}
