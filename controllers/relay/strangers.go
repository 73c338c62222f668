// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
)

// Anybody who reaches the relay can have the API server review tokens. So many may be refused in refusalPeriod, of one origin and of all addresses; then no
// unknown token of it is reviewed until that is over. The limit for all addresses does not count for one of which a token was accepted.
const (
	refusalPeriod     = time.Minute
	refusedOfOrigin   = 30
	refusedAltogether = 300
)

// origin is whose refused tokens are counted together: those of a user where the API server has signed or accepted them, which no stranger can make up, else
// those of an address, which strangers may share with deployers.
type origin struct {
	user, address string
}

// caller is whose reviews wait for each other.
func (o origin) caller() string {
	if o.user != "" {
		return o.user
	}
	return "address " + o.address
}

// strangers counts the tokens that the API server has refused. It is safe for concurrent use.
type strangers struct {
	ofOrigin, altogether int

	mu      sync.Mutex
	since   time.Time
	refused map[origin]int
	// total is that of all addresses.
	total int
	// known are addresses of which a token was accepted.
	known *cache.LRUExpireCache
}

func newStrangers(ofOrigin, altogether int) *strangers {
	return &strangers{ofOrigin: ofOrigin, altogether: altogether, known: cache.NewLRUExpireCache(rememberedTokens)}
}

// accept notes the address of a token that was accepted.
func (s *strangers) accept(address string) { s.known.Add(address, nil, acceptedFor) }

// mayAsk reports whether another token may be reviewed.
func (s *strangers) mayAsk(from origin) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	if s.refused[from] >= s.ofOrigin {
		return false
	}
	_, isKnown := s.known.Get(from.address)
	return from.user != "" || isKnown || s.total < s.altogether
}

// refuse counts a token that was refused.
func (s *strangers) refuse(from origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	s.refused[from]++
	if from.user == "" {
		s.total++
	}
}

// begin forgets what a former period has counted.
func (s *strangers) begin() {
	if now := time.Now(); s.refused == nil || now.Sub(s.since) >= refusalPeriod {
		s.since, s.refused, s.total = now, map[origin]int{}, 0
	}
}

// addressOf returns the address of a caller: the last one that a proxy names, because API servers add that of their client, or else that of the connection.
// Who gets to the relay without an API server can name any.
func addressOf(r *http.Request) string {
	if all := r.Header.Values("X-Forwarded-For"); len(all) > 0 {
		last := all[len(all)-1]
		if address := net.ParseIP(strings.TrimSpace(last[strings.LastIndex(last, ",")+1:])); address != nil {
			return address.String()
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
