// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// TestStrangersLearnNothingOfPrivateServers names servers of the private network in artifacts: the message is the same whatever is there, and none of them is
// asked.
func TestStrangersLearnNothingOfPrivateServers(t *testing.T) {
	asked := 0
	answering := func(code int) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.WriteHeader(code)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	content := newServer(t)
	own := content.offer(blueprint(t, "shop"))
	messages := map[string][]string{}
	for name, at := range map[string]string{
		"answers 200": answering(200), "answers 403": answering(403), "answers 404": answering(404), "answers 500": answering(500),
		"closed port": "http://" + closed.Addr().String(), "with the digest": own.URL, "by name": strings.Replace(own.URL, "127.0.0.1", "localhost", 1),
		"link-local": "http://169.254.1.1:1", "no such name": "http://no-such-name.invalid/", "metadata": "http://169.254.169.254/",
	} {
		s := newStore(t, func(o *Options) { o.Retries, o.PublicOnly = -1, true })
		_, err := s.Open(t.Context(), Artifact{URL: at, Digest: own.Digest, Revision: "v1", Source: "ExternalArtifact default/evil"})
		require.Error(t, err, name)
		messages[err.Error()] = append(messages[err.Error()], name)
	}
	assert.Len(t, messages, 1, "%v", messages)
	assert.Zero(t, asked)
	assert.Zero(t, content.requests.Load())
	for message := range messages {
		assert.Contains(t, message, `artifact "v1" of ExternalArtifact default/evil: download failed: its server has no public address`)
		assert.Contains(t, message, "--artifact-hosts")
	}
}

func TestStorageOfTheOperatorMayBePrivate(t *testing.T) {
	content := newServer(t)
	at, err := url.Parse(content.URL)
	require.NoError(t, err)
	for name, server := range map[string]string{"with its port": at.Host, "as a name": "LOCALHOST.:" + at.Port()} {
		t.Run(name, func(t *testing.T) {
			own := content.offer(blueprint(t, name))
			if strings.HasPrefix(server, "LOCAL") {
				own.URL = strings.Replace(own.URL, "127.0.0.1", "localhost", 1)
			}
			s := newStore(t, func(o *Options) { o.Retries, o.PublicOnly, o.Storage = -1, true, []string{server} })
			require.Equal(t, name, read(t, open(t, s, own).FS(), "blueprint.yaml"))
		})
	}
	t.Run("in place of every other", func(t *testing.T) {
		own := content.offer(blueprint(t, "overwritten"))
		own.URL = strings.Replace(own.URL, at.Host, "source-controller.flux-system.svc.cluster.local.", 1)
		s := newStore(t, func(o *Options) { o.Retries, o.PublicOnly, o.HostOverwrite = -1, true, at.Host })
		require.Equal(t, "overwritten", read(t, open(t, s, own).FS(), "blueprint.yaml"))
	})
}

func TestStorageIsNoOtherPortAndNoRedirect(t *testing.T) {
	content := newServer(t)
	own := content.offer(blueprint(t, "shop"))
	redirecting := httptest.NewServer(http.RedirectHandler(own.URL, http.StatusFound))
	t.Cleanup(redirecting.Close)
	for name, storage := range map[string]string{"another port": "127.0.0.1", "redirected": strings.TrimPrefix(redirecting.URL, "http://")} {
		t.Run(name, func(t *testing.T) {
			asked := own
			if name == "redirected" {
				asked.URL = redirecting.URL
			}
			s := newStore(t, func(o *Options) { o.Retries, o.PublicOnly, o.Storage = -1, true, []string{storage} })
			_, err := s.Open(t.Context(), asked)
			require.ErrorIs(t, err, errUnknownPrivate)
		})
	}
	assert.Zero(t, content.requests.Load())
}

func TestServersMeanThePortOfTheirScheme(t *testing.T) {
	g := newGuard(Options{PublicOnly: true, Storage: []string{"source-controller.flux-system.svc.cluster.local", "other:9090"}})
	for at, known := range map[string]bool{
		"http://source-controller.flux-system.svc.cluster.local./gitrepository/a/b/c.tar.gz": true,
		"http://source-controller.flux-system.svc.cluster.local/x":                           true,
		"http://source-controller.flux-system.svc.cluster.local:80/x":                        true,
		"https://SOURCE-controller.flux-system.svc.cluster.local/x":                          true,
		"http://source-controller.flux-system.svc.cluster.local:8080/x":                      false,
		"http://source-controller.flux-system.svc.cluster.local@evil/x":                      false,
		"http://source-controller.evil.svc.cluster.local/x":                                  false,
		"http://other:9090/x": true, "http://other/x": false, "http:///x": false,
	} {
		u, err := url.Parse(at)
		require.NoError(t, err)
		assert.Equal(t, known, g.known[egress.Server(u)], at)
	}
}

func TestMessagesTellNothingOfABodyWithoutItsDigest(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/broken" {
			w.Header().Set("Content-Length", "4242")
		}
		_, _ = w.Write([]byte(strings.Repeat("x", 4217)))
	}))
	t.Cleanup(server.Close)
	for _, path := range []string{"/whole", "/broken"} {
		s := newStore(t, func(o *Options) { o.Retries = -1 })
		_, err := s.Open(t.Context(), Artifact{URL: server.URL + path, Digest: "sha256:" + strings.Repeat("0", 64)})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "42")
	}
}
