// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// errPrivate is inside the error of a connection that the guard refuses.
var errPrivate = errors.New("the address is private")

// guardedTransport connects to public addresses only, unless private ones are allowed. It looks at the address behind the
// name at the moment of connecting, so that no name and no redirect leads around it.
func guardedTransport(allowPrivate bool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	if !allowPrivate {
		dialer.ControlContext = refusePrivate
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DialContext = dialer.DialContext
	transport.ResponseHeaderTimeout = 30 * time.Second
	return transport
}

func refusePrivate(_ context.Context, _, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("address %q: %w", address, errPrivate)
	}
	if !public(at.Addr().Unmap()) {
		return errPrivate
	}
	return nil
}

// shared are ranges beside those that netip knows: carrier NAT, protocol assignments, benchmarks, reserved, and translations
// of IPv4 addresses that would lead to one of the refused ones.
var shared = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2002::/16"),
}

func public(at netip.Addr) bool {
	if !at.IsGlobalUnicast() || at.IsPrivate() || at.IsLoopback() || at.IsLinkLocalUnicast() {
		return false
	}
	for _, prefix := range shared {
		if prefix.Contains(at) {
			return false
		}
	}
	return true
}

// checkRedirect follows a few redirects and none from https to http.
func checkRedirect(to *http.Request, via []*http.Request) error {
	const most = 5
	if len(via) >= most {
		return fmt.Errorf("more than %d redirects", most)
	}
	if via[0].URL.Scheme == "https" && to.URL.Scheme != "https" {
		return errors.New("a redirect leads from https to " + to.URL.Scheme)
	}
	return nil
}
