// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
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

// claims are the locks of the ports that this process gave away. They are held until it ends, so that a program that is
// started again finds its port free.
var claims struct {
	sync.Mutex
	files []*os.File
}

// FreeAddress returns a loopback address that nothing listens on, for a program that is given its address. No other call
// returns its port, in no process of this user, until this process ends.
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

// claim takes the lock of a port and keeps it if nothing listens at address.
func claim(port int, address string) error {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("flux-landscaper-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := TryLock(filepath.Join(dir, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("port %d is claimed: %w", port, err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		_ = file.Close()
		return err
	}
	claims.Lock()
	defer claims.Unlock()
	claims.files = append(claims.files, file)
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
