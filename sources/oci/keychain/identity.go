// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package keychain

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/flux-landscaper/flux-landscaper/sources/keysize"
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
	return Credentials{entries: []entry{{scheme: "https", Login: Login{by: &remembering{Identity: identity}}}}}
}

// FromAuthority returns no login, but certificate authorities (PEM) to trust for a host, given with its port, if any. It fails if there is
// no certificate.
func FromAuthority(host string, authorities []byte) (Credentials, error) {
	if !x509.NewCertPool().AppendCertsFromPEM(authorities) {
		return Credentials{}, fmt.Errorf("it %w", errNoCertificate)
	}
	if err := keysize.Certificates(authorities); err != nil {
		return Credentials{}, fmt.Errorf("a certificate in it cannot be used: %w", err)
	}
	return Credentials{entries: []entry{{host: CanonicalHost(host), Login: Login{ca: authorities}}}}, nil
}

var errNoCertificate = errors.New("holds no certificate; give PEM blocks of type CERTIFICATE")

// remembering keeps the last password of an identity, so that messages can hide it.
type remembering struct {
	Identity
	last atomic.Pointer[string]
}

func (k *remembering) password() string {
	if last := k.last.Load(); last != nil {
		return *last
	}
	return ""
}

// IdentityError is the failure of an identity to obtain a login.
type IdentityError struct{ error }

// Unwrap returns the reason.
func (e *IdentityError) Unwrap() error { return e.error }

// Credential is what the registry client calls when a registry demands a login.
func (l Login) Credential(host string) auth.CredentialFunc {
	if l.by == nil {
		return auth.StaticCredential(host, l.auth)
	}
	return func(ctx context.Context, asked string) (auth.Credential, error) {
		if asked != host {
			return auth.EmptyCredential, nil
		}
		user, password, err := l.by.Login(ctx, host)
		if err != nil {
			return auth.EmptyCredential, &IdentityError{fmt.Errorf("log in as %s: %w", l.by, err)}
		}
		l.by.last.Store(&password)
		return auth.Credential{Username: user, Password: password}, nil
	}
}

// Anonymous reports whether there is nothing to log in with.
func (l Login) Anonymous() bool { return l.by == nil && l.auth == auth.EmptyCredential }

// WithoutLogin keeps the certificate authorities alone.
func (l Login) WithoutLogin() Login { return Login{ca: l.ca} }

// loginAge is for how long what an identity logged in with is used again. Some clouds answer 403 to a login that has ended, by which nobody
// can tell that another would do, so it is shorter than what is left of any login when an identity gives it.
const loginAge = 5 * time.Minute

// Session names what is kept for a login between requests: for an identity it ends with time.
func (l Login) Session(now time.Time) string {
	if l.by == nil {
		return l.Fingerprint()
	}
	return l.Fingerprint() + strconv.FormatInt(now.UnixNano()/int64(loginAge), 10)
}

// Identity returns what logs in, nil where somebody wrote a login down or there is none.
func (l Login) Identity() Identity {
	if l.by == nil {
		return nil
	}
	return l.by.Identity
}

// Authorities are the certificate authorities to trust, PEM-encoded.
func (l Login) Authorities() []byte { return l.ca }

// Trusting returns the login with other certificate authorities.
func (l Login) Trusting(authorities []byte) Login {
	l.ca = authorities
	return l
}

// Secrets are the parts of the login that no message may repeat, also as the header of a request has them.
func (l Login) Secrets() []string {
	secrets := []string{l.auth.Password, l.auth.RefreshToken, l.auth.AccessToken}
	if l.auth.Password != "" {
		secrets = append(secrets, sent(l.auth.Username, l.auth.Password))
	}
	if l.by != nil {
		secrets = append(secrets, l.by.password())
	}
	return secrets
}

// sent is a login as the header of a request has it.
func sent(user, password string) string {
	return strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(user+":"+password)), "=")
}
