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

// Anybody who reaches the relay can have the API server review tokens. So many may be refused in refusalPeriod, of one address and of all; then only tokens
// that were accepted before are reviewed until it is over. The limit for all does not count for an address of which a token was accepted: a deployer gets a new
// one every hour, and strangers do not keep it from using that.
const (
	refusalPeriod     = time.Minute
	refusedOfAddress  = 30
	refusedAltogether = 300
)

// strangers counts the tokens that the API server has refused. It is safe for concurrent use.
type strangers struct {
	ofAddress, altogether int

	mu      sync.Mutex
	since   time.Time
	refused map[string]int
	total   int
	// known are addresses of which a token was accepted.
	known *cache.LRUExpireCache
}

func newStrangers(ofAddress, altogether int) *strangers {
	return &strangers{ofAddress: ofAddress, altogether: altogether, known: cache.NewLRUExpireCache(rememberedTokens)}
}

// accept notes the address of a token that was accepted.
func (s *strangers) accept(address string) { s.known.Add(address, nil, acceptedFor) }

// mayAsk reports whether another unknown token of an address may be reviewed.
func (s *strangers) mayAsk(address string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	_, isKnown := s.known.Get(address)
	return s.refused[address] < s.ofAddress && (isKnown || s.total < s.altogether)
}

// refuse counts a token of an address that was refused.
func (s *strangers) refuse(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin()
	s.refused[address]++
	s.total++
}

// begin forgets what a former period has counted.
func (s *strangers) begin() {
	if now := time.Now(); s.refused == nil || now.Sub(s.since) >= refusalPeriod {
		s.since, s.refused, s.total = now, map[string]int{}, 0
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
