// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
)

// ErrPrivate is inside the error of a connection that RequirePublic refused, and of one to a host that does not exist where only public addresses are
// allowed: see Dialing.
var ErrPrivate = errors.New("the address is not public, or the host does not exist")

// Control returns the net.Dialer.Control for addresses that tenants choose: RequirePublic where the operator wants that, else RefuseMetadata.
func Control(publicOnly bool) func(network, address string, _ syscall.RawConn) error {
	if publicOnly {
		return RequirePublic
	}
	return RefuseMetadata
}

// RequirePublic is a net.Dialer.Control: it is asked with the resolved address of every connection, so that no name and no redirect
// leads around it. The error for an address that is not public is an ErrPrivate.
func RequirePublic(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, ErrPrivate)
	}
	if !public(at.Addr().Unmap()) {
		return ErrPrivate
	}
	return nil
}

// RefuseMetadata is a net.Dialer.Control that refuses only the metadata services of cloud providers: they hand the identity of the
// machine to everybody who asks. The error for such an address is an ErrPrivate.
func RefuseMetadata(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil || slices.Contains(metadata, at.Addr().Unmap().WithZone("")) {
		return ErrPrivate
	}
	return nil
}

// metadata are the addresses of metadata and credential services: of most providers, of AWS for containers and Pods, of AWS by IPv6,
// of Azure, Alibaba and Oracle.
var metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"),
	netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23"),
	netip.MustParseAddr("168.63.129.16"), netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("192.0.0.192"),
}

// special are ranges beside those that netip knows: carrier NAT, where cloud providers keep services too, protocol assignments,
// benchmarks, reserved ones, and translations of IPv4 addresses that would lead to one of the refused ones.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

func public(at netip.Addr) bool {
	if !at.IsGlobalUnicast() || at.IsPrivate() || at.IsLoopback() || at.IsLinkLocalUnicast() || slices.Contains(metadata, at) {
		return false
	}
	for _, prefix := range special {
		if prefix.Contains(at) {
			return false
		}
	}
	return true
}

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
		return nil, &hidden{missing: missing}
	}
}

// concealed is an ErrPrivate that says nothing more.
type hidden struct {
	// missing is the name of a host that is not there.
	missing string
}

// Error says the same of all hosts.
func (c *hidden) Error() string { return ErrPrivate.Error() }

// Unwrap makes it an ErrPrivate.
func (c *hidden) Unwrap() error { return ErrPrivate }

// IsOfName reports whether an ErrPrivate is about the name of a host, and not about an address: another attempt may find what the name leads to.
func IsOfName(err error) bool {
	_, isHidden := errors.AsType[*hidden](err)
	return isHidden
}

// MissingHost returns the name of the host that a connection failed for because it does not exist in DNS; empty where it failed for something else. A
// resolver that does not answer, or answers with an error of its own, says nothing about the name. Where the error is an ErrPrivate, only who knows
// by itself that the host has been public may tell a tenant.
func MissingHost(err error) string {
	if hidden, isHidden := errors.AsType[*hidden](err); isHidden {
		return hidden.missing
	}
	problem, isDNS := errors.AsType[*net.DNSError](err)
	if isDNS && problem.IsNotFound && !problem.IsTimeout && !problem.IsTemporary {
		return strings.TrimSuffix(problem.Name, ".")
	}
	return ""
}

// Proxy returns what finds the proxy of a request as find does, but none for a server that is named by an address which Control refuses: a transport connects
// to that itself, and is refused. What names lead to behind a proxy is for the proxy to decide.
func Proxy(publicOnly bool, find func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	control := Control(publicOnly)
	return func(request *http.Request) (*url.URL, error) {
		at, err := netip.ParseAddr(request.URL.Hostname())
		if err == nil && control("", netip.AddrPortFrom(at, 0).String(), nil) != nil {
			return nil, nil
		}
		return find(request)
	}
}
