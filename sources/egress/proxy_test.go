// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A proxy would reach for a tenant what this process does not.
func TestNoProxyIsAskedForAnAddressThatIsRefused(t *testing.T) {
	of := &url.URL{Scheme: "http", Host: "proxy.example.com"}
	find := func(*http.Request) (*url.URL, error) { return of, nil }
	for server, c := range map[string]struct{ any, public bool }{
		"http://169.254.169.254/latest":            {false, false},
		"http://[fd00:ec2::254]/latest":            {false, false},
		"http://[::ffff:169.254.169.254]:80/":      {false, false},
		"https://10.0.0.1":                         {true, false},
		"https://192.0.2.1:8443/v2/":               {true, true},
		"https://registry.example.com/v2/":         {true, true},
		"https://169.254.169.254.example.com/v2/x": {true, true},
	} {
		for publicOnly, want := range map[bool]bool{false: c.any, true: c.public} {
			found, err := Proxy(publicOnly, find)(httptest.NewRequest(http.MethodGet, server, nil))
			require.NoError(t, err)
			assert.Equal(t, want, found == of, "%s, public only: %t", server, publicOnly)
		}
	}
}
