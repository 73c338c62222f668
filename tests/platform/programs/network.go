// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"context"
	"net"
	"os/exec"
	"sync"
	"syscall"
)

// Network is a network apart. What listens in it is reached by Dial only; what runs in it reaches itself and the addresses that Lead names.
// Linux as root only.
type Network struct {
	apart networkApart

	mu        sync.Mutex
	listeners []net.Listener
	conns     Connections
}

// Lead lets what runs in the network connect to an address outside, by that same address.
func (n *Network) Lead(address string) error {
	listener, err := n.apart.listen(address)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.listeners = append(n.listeners, listener)
	n.mu.Unlock()
	go n.conns.Serve(listener, func(net.Conn) (net.Conn, error) { return net.Dial("tcp", address) })
	return nil
}

// Listen listens on an address in the network; in the one of this process where n is nil.
func (n *Network) Listen(address string) (net.Listener, error) {
	if n == nil {
		return net.Listen("tcp4", address)
	}
	return n.apart.listen(address)
}

// Close ends the ways out of the network. What still runs in it is killed.
func (n *Network) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, listener := range n.listeners {
		_ = listener.Close()
	}
	n.listeners = nil
	n.conns.BreakAll()
	return n.apart.close()
}

// spawn starts a program in the network; in the one of this process where n is nil.
func (n *Network) spawn(cmd *exec.Cmd, attributes *syscall.SysProcAttr) error {
	if n == nil {
		return spawnWith(cmd, attributes)
	}
	return spawnBy(n.apart.starts, cmd, attributes)
}

// Dialer is Dial as clients take it, or nil for their own.
func (n *Network) Dialer() func(context.Context, string, string) (net.Conn, error) {
	if n == nil {
		return nil
	}
	return n.Dial
}
