// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRefusedTokensAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := newStrangers(3, 10)
		known.accept("fence")
		asksAs := func(from origin) (count int) {
			for ; known.mayAsk(from); count++ {
				known.refuse(from)
			}
			return count
		}
		asks := func(address string) int { return asksAs(origin{address: address}) }
		assert.Equal(t, 3, asks("east"))
		assert.Equal(t, 3, asks("west"), "another address")
		assert.Equal(t, 3, asks("north"))
		assert.Equal(t, 1, asks("south"), "all together")
		assert.Zero(t, asks("nowhere"))
		assert.Equal(t, 3, asks("fence"), "who was accepted before has a new token sometimes")
		assert.Equal(t, 3, asksAs(origin{user: "helm"}), "whose tokens are signed")
		time.Sleep(refusalPeriod)
		assert.Equal(t, 3, asks("east"))
		assert.Len(t, known.refused, 1)
		for _, user := range []string{"a", "b", "c", "d"} {
			asksAs(origin{user: user})
		}
		assert.Equal(t, 3, asks("west"), "tokens that are signed are nobody's but the user's")
	})
}

func TestAddressesOfCallers(t *testing.T) {
	for name, tc := range map[string]struct {
		forwarded []string
		want      string
	}{
		"of the connection":        {nil, "10.0.0.1"},
		"behind an API server":     {[]string{"192.0.2.7"}, "192.0.2.7"},
		"who names others before":  {[]string{"192.0.2.1, 192.0.2.2,2001:db8::7"}, "2001:db8::7"},
		"in several headers":       {[]string{"192.0.2.1", "192.0.2.2, 192.0.2.7"}, "192.0.2.7"},
		"that is none":             {[]string{"unknown"}, "10.0.0.1"},
		"that is no address, long": {[]string{fmt.Sprintf("%01000d", 1)}, "10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			request := &http.Request{RemoteAddr: "10.0.0.1:4711", Header: http.Header{"X-Forwarded-For": tc.forwarded}}
			assert.Equal(t, tc.want, addressOf(request))
		})
	}
}
