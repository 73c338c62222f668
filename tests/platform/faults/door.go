// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// Door is a loopback address in front of an API server that can be closed and opened again, as a network that breaks.
type Door struct {
	address string
	backend string

	mu       sync.Mutex
	listener net.Listener
	conns    programs.Connections
}

// NewDoor opens a door in front of the API server that config reaches. Whoever calls it closes it in the end.
func NewDoor(config *rest.Config) (*Door, error) {
	backend, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("cannot open a door in front of %s: %w", config.Host, err)
	}
	d := &Door{address: "127.0.0.1:0", backend: backend.Host}
	return d, d.Open()
}

// Through returns the access of config through the door.
func (d *Door) Through(config *rest.Config) *rest.Config {
	through := rest.CopyConfig(config)
	through.Host = "https://" + d.address
	return through
}

// Open listens at the address of the door. It must not be open.
func (d *Door) Open() error {
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		return fmt.Errorf("cannot open the door: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listener, d.address = listener, listener.Addr().String()
	go d.conns.Serve(listener, func(net.Conn) (net.Conn, error) { return net.Dial("tcp", d.backend) })
	return nil
}

// Close refuses connections and breaks those that exist. It may be called more than once.
func (d *Door) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.listener.Close()
	d.conns.BreakAll()
}

// CountKnocks counts the connections to the closed door, which it ends at once, until stop.
func (d *Door) CountKnocks() (knocks *atomic.Int32, stop func(), err error) {
	listener, err := net.Listen("tcp", d.address)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot listen behind the door: %w", err)
	}
	knocks = &atomic.Int32{}
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			knocks.Add(1)
			_ = connection.Close()
		}
	}()
	return knocks, func() { _ = listener.Close() }, nil
}
