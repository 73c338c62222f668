// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package programs

import (
	"context"
	"errors"
	"net"
)

var errNoNetwork = errors.New("a network apart needs Linux")

// networkApart is for Linux only.
type networkApart struct{ starts chan func() }

// NewNetwork fails: networks apart are for Linux only.
func NewNetwork() (*Network, error) { return nil, errNoNetwork }

func (a *networkApart) close() error { return nil }

func (a *networkApart) listen(string) (net.Listener, error) { return nil, errNoNetwork }

// Dial connects to what listens in the network of this process.
func (n *Network) Dial(ctx context.Context, protocol, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, protocol, address)
}
