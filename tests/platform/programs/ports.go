// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"testing"
)

const (
	// Loopback is the address of this machine for itself.
	Loopback     = "127.0.0.1"
	firstPort    = 20000 // below the range that kernels give to outgoing connections
	portCount    = 12000
	portAttempts = 100
)

// claims are the sockets by which this process holds the ports that it gave away. They are open until it ends, so that a program that is started
// again finds its port free.
var claims struct {
	sync.Mutex
	sockets []net.Listener
}

// FreeAddress returns a loopback address that nothing listens on, for a program that is given its address. No other call
// returns its port, in no process of this machine on Linux, until this process ends.
func FreeAddress() (string, error) { return FreeAddressOf(Loopback) }

// FreeAddressOf is FreeAddress for another address of this machine.
func FreeAddressOf(host string) (string, error) {
	var last error
	for range portAttempts {
		port := firstPort + rand.IntN(portCount)
		address := net.JoinHostPort(host, strconv.Itoa(port))
		if last = claim(port, address); last == nil {
			return address, nil
		}
	}
	return "", fmt.Errorf("no free port on %s: %w", host, last)
}

// RequireFreeAddress is FreeAddressOf for a test, which fails if there is none.
func RequireFreeAddress(t testing.TB, host string) string {
	t.Helper()
	address, err := FreeAddressOf(host)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// claim takes a port for this process if nothing listens at address.
func claim(port int, address string) error {
	held, err := hold(port)
	if err != nil {
		return fmt.Errorf("port %d is claimed: %w", port, err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, held.Close())
	}
	claims.Lock()
	defer claims.Unlock()
	claims.sockets = append(claims.sockets, held)
	return listener.Close()
}

// FreeAddresses returns count different free loopback addresses.
func FreeAddresses(count int) ([]string, error) {
	addresses := make([]string, 0, count)
	for range count {
		address, err := FreeAddress()
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}
