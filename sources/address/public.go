// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package address keeps connections on the public internet, where an operator wants that: what tenants name may not lead to the
// machine, its network, or the metadata services of cloud providers. It promises nothing to others.
package address

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
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
