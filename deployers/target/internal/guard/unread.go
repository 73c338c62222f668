// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/address"
)

const (
	// unreadRate and unreadBurst are how many bytes a server may send that belong to no answer which somebody reads, in a second and at once. What waits
	// to be read, and what nobody reads to its end, is among them.
	unreadRate, unreadBurst = 64 << 10, 32 << 20
	// answerFrame is what belongs to an answer beyond its body, in bytes.
	answerFrame = 8 << 10
	// readFrame is what belongs to a part of an answer beyond its text, in bytes: the frames of HTTP, of TLS, and of a proxy.
	readFrame = 64
)

// unread counts what a server sends that belongs to no answer. HTTP/2 reads such frames, and answers some of them, whether or not somebody waits for an
// answer: each takes a few bytes, so that it costs much more than the bytes of an answer. It is safe for concurrent use.
type unread struct {
	mu    sync.Mutex
	bytes float64
	at    time.Time
	// pausedUntil is until when the server is not asked again, because it has sent too much.
	pausedUntil time.Time
}

// came notes bytes that came, and reports whether there may be so many. Too many pause the server: what nobody has read of them is forgotten with their
// connections.
func (u *unread) came(bytes int, now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Before(u.pausedUntil) {
		return false
	}
	u.bytes = max(0, u.bytes-now.Sub(u.at).Seconds()*unreadRate) + float64(bytes)
	u.at = now
	if u.bytes <= unreadBurst {
		return true
	}
	u.bytes, u.pausedUntil = 0, now.Add(silence)
	return false
}

// isPaused reports whether the server is not to be asked.
func (u *unread) isPaused(now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return now.Before(u.pausedUntil)
}

// belongs notes that bytes which came belong to an answer.
func (u *unread) belongs(bytes int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes = max(0, u.bytes-float64(bytes))
}

// dialing returns a dial whose connections end when too much comes that belongs to no answer. None is opened for some time then.
func (u *unread) dialing(dial address.Dial) address.Dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if u.isPaused(time.Now()) {
			return nil, ErrUnasked
		}
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &metered{Conn: connection, unread: u}, nil
	}
}

// metered is a connection of which each byte is counted that comes.
type metered struct {
	net.Conn
	unread *unread
}

// Read reads, and closes the connection when too much has come.
func (c *metered) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if c.unread.came(n, time.Now()) {
		return n, err
	}
	_ = c.Close()
	return 0, ErrUnasked
}
