// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"net"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
)

// WireMode is what a Wire does with connections.
type WireMode int

const (
	// Whole passes everything on.
	Whole WireMode = iota
	// Reset breaks connections, and refuses new ones.
	Reset
	// Blackhole takes connections and bytes, and passes nothing on until the wire is whole again.
	Blackhole
	// HalfOpen is Blackhole, but the connections that are open by then never pass anything on again, and nobody is told.
	HalfOpen
	// Slow passes everything on after SlowBy.
	Slow
)

// SlowBy is how long bytes are on their way, in each direction, while a Wire is Slow.
const SlowBy = 2 * time.Second

// Wire is a way to a server that can be cut.
type Wire struct {
	// Address is what clients connect to.
	Address string

	backend  string
	listener net.Listener
	mu       sync.Mutex
	changed  *sync.Cond
	mode     WireMode
	closed   bool
	open     map[*wireConn]bool
}

// wireConn is one connection of a wire.
type wireConn struct {
	client, server net.Conn
	lost           bool
}

// NewWire listens on a free port on loopback for connections to a server, given as host:port.
func NewWire(backend string) (*Wire, error) {
	listener, err := net.Listen("tcp", programs.Loopback+":0")
	if err != nil {
		return nil, err
	}
	w := &Wire{Address: listener.Addr().String(), backend: backend, listener: listener, open: map[*wireConn]bool{}}
	w.changed = sync.NewCond(&w.mu)
	go w.serve()
	return w, nil
}

// Become changes what happens to connections.
func (w *Wire) Become(m WireMode) { w.set(m, false) }

// Close ends the wire and its connections.
func (w *Wire) Close() error {
	w.set(Reset, true)
	return w.listener.Close()
}

func (w *Wire) set(m WireMode, closed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mode, w.closed = m, closed
	for conn := range w.open {
		switch {
		case m == Reset:
			conn.close()
			delete(w.open, conn)
		case m == HalfOpen:
			conn.lost = true
		}
	}
	w.changed.Broadcast()
}

func (c *wireConn) close() {
	_ = c.client.Close()
	if c.server != nil {
		_ = c.server.Close()
	}
}

func (w *Wire) serve() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		conn := &wireConn{client: client}
		w.mu.Lock()
		refused := w.mode == Reset
		if !refused {
			w.open[conn] = true
		}
		w.mu.Unlock()
		if refused {
			_ = client.Close()
			continue
		}
		go w.pass(conn)
	}
}

// admit waits until bytes of a connection may pass, and returns false when they never will.
func (w *Wire) admit(conn *wireConn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && w.open[conn] && (conn.lost || w.mode == Blackhole || w.mode == HalfOpen) {
		w.changed.Wait()
	}
	return !w.closed && w.open[conn]
}

func (w *Wire) pass(conn *wireConn) {
	defer w.forget(conn)
	if !w.admit(conn) {
		return
	}
	server, err := net.Dial("tcp", w.backend)
	if err != nil {
		return
	}
	w.mu.Lock()
	conn.server = server
	w.mu.Unlock()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{conn.client, server}, {server, conn.client}} {
		go func() {
			w.copy(conn, way[1], way[0])
			ended <- struct{}{}
		}()
	}
	<-ended
	w.admit(conn) // the end of a connection does not pass a cut wire, either
}

func (w *Wire) forget(conn *wireConn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	conn.close()
	delete(w.open, conn)
	w.changed.Broadcast()
}

// packet is what was read at one time.
type packet struct {
	bytes []byte
	due   time.Time
}

// copy passes bytes on in their order, each when it is due.
func (w *Wire) copy(conn *wireConn, to, from net.Conn) {
	packets, written := make(chan packet, 1024), make(chan struct{})
	go func() {
		defer close(written)
		for p := range packets {
			time.Sleep(time.Until(p.due))
			if !w.admit(conn) {
				continue
			}
			if _, err := to.Write(p.bytes); err != nil {
				w.forget(conn)
			}
		}
	}()
	for {
		buffer := make([]byte, 32<<10)
		read, err := from.Read(buffer)
		if read > 0 {
			packets <- packet{buffer[:read], w.due()}
		}
		if err != nil {
			break
		}
	}
	close(packets)
	<-written
}

func (w *Wire) due() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mode == Slow {
		return time.Now().Add(SlowBy)
	}
	return time.Time{}
}
