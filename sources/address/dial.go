// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"github.com/go-logr/logr"
)

// Dial opens connections, as net.Dialer.DialContext does.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// Dialing returns what opens connections to addresses that tenants choose, within a time for each. Its errors are those of net.Dialer. With publicOnly
// they say of a host that is not there the same as of one in a private network, since everything else would show which names that network has:
// then it is one that is an ErrPrivate, and has nothing of the network in its text. What the difference was is logged at debug level.
func Dialing(publicOnly bool, timeout time.Duration) Dial {
	dialer := &net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second, Control: Control(publicOnly)}
	if !publicOnly {
		return dialer.DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dialer.DialContext(ctx, network, address)
		missing := MissingHost(err)
		if missing == "" && !errors.Is(err, ErrPrivate) {
			return connection, err
		}
		if host, _, problem := net.SplitHostPort(address); problem == nil && net.ParseIP(host) != nil {
			return nil, ErrPrivate
		}
		logr.FromContextOrDiscard(ctx).V(1).Info("No connection to a public address", "address", address, "error", err.Error())
		return nil, &concealed{missing: missing}
	}
}

// concealed is an ErrPrivate that says nothing more.
type concealed struct {
	// missing is the name of a host that is not there.
	missing string
}

// Error says the same of all hosts.
func (c *concealed) Error() string { return ErrPrivate.Error() }

// Unwrap makes it an ErrPrivate.
func (c *concealed) Unwrap() error { return ErrPrivate }

// IsOfName reports whether an ErrPrivate is about the name of a host, and not about an address: another attempt may find what the name leads to.
func IsOfName(err error) bool {
	_, isHidden := errors.AsType[*concealed](err)
	return isHidden
}

// MissingHost returns the name of the host that a connection failed for because it does not exist in DNS; empty where it failed for something else. A
// resolver that does not answer, or answers with an error of its own, says nothing about the name. Where the error is an ErrPrivate, only who knows
// by itself that the host has been public may tell a tenant.
func MissingHost(err error) string {
	if hidden, isHidden := errors.AsType[*concealed](err); isHidden {
		return hidden.missing
	}
	problem, isDNS := errors.AsType[*net.DNSError](err)
	if isDNS && problem.IsNotFound && !problem.IsTimeout && !problem.IsTemporary {
		return strings.TrimSuffix(problem.Name, ".")
	}
	return ""
}
