// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

const (
	loopback     = "127.0.0.1"
	firstPort    = 20000 // below the range that kernels give to outgoing connections
	portCount    = 12000
	portAttempts = 100
)

// freeAddress returns a loopback address that nothing listens on right now. Another process may take it before its user
// does, so whoever uses it checks that the right server answers and tries again with another one.
func freeAddress() (string, error) {
	var last error
	for range portAttempts {
		address := net.JoinHostPort(loopback, strconv.Itoa(firstPort+rand.IntN(portCount)))
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return address, listener.Close()
		}
		last = err
	}
	return "", fmt.Errorf("no free port on %s: %w", loopback, last)
}

// freeAddresses returns count different free loopback addresses.
func freeAddresses(count int) ([]string, error) {
	taken := map[string]bool{}
	addresses := make([]string, 0, count)
	for len(addresses) < count {
		address, err := freeAddress()
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
