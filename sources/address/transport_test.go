// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

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
			found, err := proxy(publicOnly, find)(httptest.NewRequest(http.MethodGet, server, nil))
			require.NoError(t, err)
			assert.Equal(t, want, found == of, "%s, public only: %t", server, publicOnly)
		}
	}
}

func TestHeadersOfAnswersAreBounded(t *testing.T) {
	for name, tc := range map[string]struct {
		length int
		ok     bool
	}{
		"a large one": {maxHeaderBytes / 2, true},
		"a larger":    {2 * maxHeaderBytes, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("ETag", strings.Repeat("x", tc.length))
			}))
			defer server.Close()
			answer, err := (&http.Client{Transport: Transport(false, time.Second)}).Get(server.URL)
			if err == nil {
				require.NoError(t, answer.Body.Close())
			}
			assert.Equal(t, tc.ok, err == nil, "%v", err)
		})
	}
}

func TestServersOfTenantsSpeakHTTP1(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := Transport(false, time.Second)
	transport.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	answer, err := (&http.Client{Transport: transport}).Get(server.URL)
	require.NoError(t, err)
	defer answer.Body.Close()
	protocol, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.Equal(t, "HTTP/1.1", string(protocol))
}
