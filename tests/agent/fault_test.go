// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/base64"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func encode(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

// mode is what a fault does with connections.
type mode int

const (
	// whole passes everything on.
	whole mode = iota
	// reset breaks connections, and refuses new ones.
	reset
	// blackhole takes connections and bytes, and passes nothing on until it is whole again.
	blackhole
)

// fault is the network between the fence and the landscaper cluster.
type fault struct {
	address, backend string

	mu      sync.Mutex
	changed *sync.Cond
	mode    mode
	closed  bool
	open    map[net.Conn]bool
}

func newFault(t *testing.T, host string) *fault {
	t.Helper()
	backend, err := url.Parse(host)
	require.NoError(t, err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fault{address: listener.Addr().String(), backend: backend.Host, open: map[net.Conn]bool{}}
	f.changed = sync.NewCond(&f.mu)
	go f.serve(listener)
	t.Cleanup(func() {
		_ = listener.Close()
		f.set(reset, true)
	})
	return f
}

// become changes what happens to connections.
func (f *fault) become(m mode) { f.set(m, false) }

func (f *fault) set(m mode, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mode, f.closed = m, closed
	if m == reset {
		for conn := range f.open {
			_ = conn.Close()
		}
		clear(f.open)
	}
	f.changed.Broadcast()
}

func (f *fault) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go f.pass(conn)
	}
}

// admit waits until bytes may pass, and returns false when the connection is to end.
func (f *fault) admit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.mode == blackhole && !f.closed {
		f.changed.Wait()
	}
	return f.mode == whole
}

func (f *fault) pass(from net.Conn) {
	defer from.Close()
	if !f.admit() {
		return
	}
	to, err := net.Dial("tcp", f.backend)
	if err != nil {
		return
	}
	defer to.Close()
	f.mu.Lock()
	f.open[from], f.open[to] = true, true
	f.mu.Unlock()
	ended := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		go func() {
			f.copy(way[1], way[0])
			ended <- struct{}{}
		}()
	}
	<-ended
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, from)
	delete(f.open, to)
}

func (f *fault) copy(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		read, err := from.Read(buffer)
		if read > 0 && f.admit() {
			if _, failed := to.Write(buffer[:read]); failed != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
