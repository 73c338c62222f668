// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// networkApart is a network namespace, and the thread that starts programs in it.
type networkApart struct {
	file   *os.File
	starts chan func()
}

// NewNetwork makes a network that has a loopback interface and nothing else.
func NewNetwork() (*Network, error) {
	n := &Network{apart: networkApart{starts: make(chan func())}}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the network
		err := n.apart.enter()
		ready <- err
		if err != nil {
			return
		}
		for start := range n.apart.starts {
			start()
		}
	}()
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("cannot make a network apart, which needs root: %w", err)
	}
	return n, nil
}

// enter moves this thread into a new network.
func (a *networkApart) enter() (err error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return err
	}
	if err := startLoopback(); err != nil {
		return err
	}
	a.file, err = os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
	return err
}

func startLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func (a *networkApart) close() error {
	close(a.starts)
	return a.file.Close()
}

func (a *networkApart) listen(address string) (listener net.Listener, err error) {
	inside := Within(a.file, func() error {
		listener, err = net.Listen("tcp4", address)
		return err
	})
	return listener, inside
}

// Dial connects to what listens in the network; in the one of this process where n is nil.
func (n *Network) Dial(ctx context.Context, protocol, address string) (conn net.Conn, err error) {
	var dialer net.Dialer
	if n == nil {
		return dialer.DialContext(ctx, protocol, address)
	}
	inside := Within(n.apart.file, func() error {
		conn, err = dialer.DialContext(ctx, protocol, address)
		return err
	})
	return conn, inside
}

// Within runs do on a thread in the network namespace. The thread ends with it, so that nothing else ever runs there.
func Within(network *os.File, do func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(int(network.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("cannot enter the network of the node: %w", err)
			return
		}
		result <- do()
	}()
	return <-result
}
