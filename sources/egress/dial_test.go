// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNamesOfAPrivateNetworkAreNotToldApart has a host that exists there, one that does not, and addresses.
func TestNamesOfAPrivateNetworkAreNotToldApart(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	dial := Dialing(true, 10*time.Second)
	for host, missing := range map[string]string{"localhost": "", "nobody.invalid": "nobody.invalid", "nobody.invalid.": "nobody.invalid", "127.0.0.1": "", "10.1.2.3": ""} {
		_, err := dial(t.Context(), "tcp", net.JoinHostPort(host, at.Port()))
		require.ErrorIs(t, err, ErrPrivate, host)
		assert.Equal(t, ErrPrivate.Error(), err.Error(), host)
		assert.Equal(t, missing, MissingHost(err), host)
		assert.Equal(t, net.ParseIP(host) == nil, IsOfName(err), host)
	}

	open := Dialing(false, 10*time.Second)
	connection, err := open(t.Context(), "tcp", net.JoinHostPort("localhost", at.Port()))
	require.NoError(t, err)
	require.NoError(t, connection.Close())
	_, err = open(t.Context(), "tcp", "nobody.invalid:80")
	require.ErrorContains(t, err, "no such host")
	assert.Equal(t, "nobody.invalid", MissingHost(err))
}
