// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package programs

import (
	"io"
	"net"
	"sync"
)

// Connections passes bytes between clients and servers, and knows what it passes, to be able to break it.
type Connections struct {
	mu   sync.Mutex
	open map[net.Conn]bool
}

// Serve connects every client of the listener with the server that dial finds for it, until the listener is closed.
func (c *Connections) Serve(listener net.Listener, dial func(client net.Conn) (net.Conn, error)) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go c.pass(client, dial)
	}
}

// pass connects a client with its server until one of them ends the connection.
func (c *Connections) pass(client net.Conn, dial func(net.Conn) (net.Conn, error)) {
	defer client.Close()
	server, err := dial(client)
	if err != nil {
		return
	}
	defer server.Close()
	defer c.keep(client, server)()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		go func() {
			_, _ = io.Copy(way[0], way[1]) // a connection that breaks is what doors are for
			ended <- struct{}{}
		}()
	}
	<-ended
}

// keep lets BreakAll break connections. The function that it returns forgets them.
func (c *Connections) keep(conns ...net.Conn) (forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[net.Conn]bool{}
	}
	for _, conn := range conns {
		c.open[conn] = true
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, conn := range conns {
			delete(c.open, conn)
		}
	}
}

// BreakAll ends every connection that is open now.
func (c *Connections) BreakAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		_ = conn.Close()
	}
	clear(c.open)
}
