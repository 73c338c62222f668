// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"
)

// Door is a loopback address in front of an API server that can be closed and opened again, as a network that breaks.
type Door struct {
	address string
	backend string

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
}

// NewDoor opens a door in front of the API server that config reaches. Whoever calls it closes it in the end.
func NewDoor(config *rest.Config) (*Door, error) {
	backend, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("cannot open a door in front of %s: %w", config.Host, err)
	}
	d := &Door{address: "127.0.0.1:0", backend: backend.Host, conns: map[net.Conn]bool{}}
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
	go d.serve(listener)
	return nil
}

// Close refuses connections and breaks those that exist. It may be called more than once.
func (d *Door) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.listener.Close()
	for conn := range d.conns {
		_ = conn.Close()
	}
	clear(d.conns)
}

func (d *Door) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return // the door is closed
		}
		go d.pass(conn)
	}
}

// pass connects a client with the API server until one of them ends the connection.
func (d *Door) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", d.backend)
	if err != nil {
		return
	}
	defer server.Close()
	defer d.keep(client, server)()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // a connection that breaks is what doors are for
			ended <- struct{}{}
		}()
	}
	<-ended
}

// keep lets Close break connections. The function that it returns forgets them.
func (d *Door) keep(conns ...net.Conn) (forget func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, conn := range conns {
		d.conns[conn] = true
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, conn := range conns {
			delete(d.conns, conn)
		}
	}
}
