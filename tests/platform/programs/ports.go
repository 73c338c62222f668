// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	// Loopback is the address of this machine for itself.
	Loopback     = "127.0.0.1"
	firstPort    = 20000 // below the range that kernels give to outgoing connections
	portCount    = 12000
	portAttempts = 100
)

// FreeAddress returns a loopback address that nothing listens on right now. Another process may take it before its user
// does, so whoever uses it checks that the right server answers and tries again with another one.
func FreeAddress() (string, error) {
	var last error
	for range portAttempts {
		address := net.JoinHostPort(Loopback, strconv.Itoa(firstPort+rand.IntN(portCount)))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return address, listener.Close()
		}
		last = err
	}
	return "", fmt.Errorf("no free port on %s: %w", Loopback, last)
}

// FreeAddresses returns count different free loopback addresses.
func FreeAddresses(count int) ([]string, error) {
	taken := map[string]bool{}
	addresses := make([]string, 0, count)
	for len(addresses) < count {
		address, err := FreeAddress()
		if err != nil {
			return nil, err
		}
		if !taken[address] {
			taken[address] = true
			addresses = append(addresses, address)
		}
	}
	return addresses, nil
}
