// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// Identity logs in at some registries with a login that it obtains when one is needed and that changes with time, as the
// identities of clouds do. Its methods are called concurrently.
type Identity interface {
	// Fits reports whether the identity can log in at a host, given with its port, if any.
	Fits(host string) bool
	// Login returns a user and a password for a host. Its error names the identity and repeats no secret.
	Login(ctx context.Context, host string) (user, password string, err error)
	// Fingerprint is equal for the same party, whatever it logs in with at the moment.
	Fingerprint() string
	// String names the party in messages.
	String() string
}

// FromIdentity returns the login of an identity. It is used at the hosts that fit where no other login does, and over TLS only.
func FromIdentity(identity Identity) Credentials {
	return Credentials{entries: []entry{{scheme: "https", login: login{identity: &keyring{Identity: identity}}}}}
}

// FromAuthority returns no login, but certificate authorities (PEM) to trust for a host, given with its port, if any. It fails if there is
// no certificate.
func FromAuthority(host string, authorities []byte) (Credentials, error) {
	if !x509.NewCertPool().AppendCertsFromPEM(authorities) {
		return Credentials{}, fmt.Errorf("it %w", errNoCertificate)
	}
	return Credentials{entries: []entry{{host: canonicalHost(host), login: login{ca: authorities}}}}, nil
}

var errNoCertificate = errors.New("holds no certificate; give PEM blocks of type CERTIFICATE")

// keyring remembers the last password of an identity, so that messages can hide it.
type keyring struct {
	Identity
	last atomic.Pointer[string]
}

func (k *keyring) password() string {
	if last := k.last.Load(); last != nil {
		return *last
	}
	return ""
}

// identityError is the failure of an identity to obtain a login.
type identityError struct{ error }

func (e *identityError) Unwrap() error { return e.error }

// credential is what the registry client calls when a registry demands a login.
func (l login) credential(host string) auth.CredentialFunc {
	if l.identity == nil {
		return auth.StaticCredential(host, l.auth)
	}
	return func(ctx context.Context, asked string) (auth.Credential, error) {
		if asked != host {
			return auth.EmptyCredential, nil
		}
		user, password, err := l.identity.Login(ctx, host)
		if err != nil {
			return auth.EmptyCredential, &identityError{fmt.Errorf("log in as %s: %w", l.identity, err)}
		}
		l.identity.last.Store(&password)
		return auth.Credential{Username: user, Password: password}, nil
	}
}

// anonymous reports whether there is nothing to log in with.
func (l login) anonymous() bool { return l.identity == nil && l.auth == auth.EmptyCredential }

// withoutLogin keeps the certificate authorities alone.
func (l login) withoutLogin() login { return login{ca: l.ca} }

// loginAge is for how long what an identity logged in with is used again. Some clouds answer 403 to a login that has ended, by which nobody
// can tell that another would do, so it is shorter than what is left of any login when an identity gives it.
const loginAge = 5 * time.Minute

// session names what is kept for a login between requests: for an identity it ends with time.
func (l login) session(now time.Time) string {
	if l.identity == nil {
		return l.fingerprint()
	}
	return l.fingerprint() + strconv.FormatInt(now.UnixNano()/int64(loginAge), 10)
}
