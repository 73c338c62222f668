// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// kubeconfigOf writes a kubeconfig whose token is in a file beside it.
func kubeconfigOf(t *testing.T, server, user string, authority ...byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	content := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %q}}], users: [{name: u, user: %s}]}`,
		server, base64.StdEncoding.EncodeToString(authority), user)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "token"), []byte("first\n"), 0o600))
	return path
}

// echo answers with the credentials of the request.
func echo(t *testing.T) (address string, authority []byte) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_, _ = w.Write([]byte(request.Header.Get("Authorization")))
	}))
	t.Cleanup(server.Close)
	return server.URL, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func get(t *testing.T, link *Link) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link.Config().Host, nil)
	require.NoError(t, err)
	answer, err := link.Config().Transport.RoundTrip(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(raw)
}

func TestRequestsWaitUntilTheLandscaperClusterIsReached(t *testing.T) {
	address, authority := echo(t)
	link, err := OpenLink(kubeconfigOf(t, address, "{token: a}", authority...))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, link.Config().Host, nil)
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() {
		_, err := link.Config().Transport.RoundTrip(request)
		waiting <- err
	}()
	cancel()
	require.ErrorIs(t, <-waiting, context.Canceled, "the caller may give up")
	go link.up()
	assert.Equal(t, "Bearer a", get(t, link))
}

// asking makes a request that no context ends, as clients do when they are made, and returns what comes of it.
func asking(t *testing.T, link *Link) <-chan error {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, link.Config().Host, nil)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := link.Config().Transport.RoundTrip(request)
		ended <- err
	}()
	return ended
}

// closedPort is the address of a server that has ended.
func closedPort(t *testing.T) string {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	server.Close()
	return server.URL
}

func TestNoRequestWaitsForTheLandscaperClusterWhenTheProcessEnds(t *testing.T) {
	link, err := OpenLink(kubeconfigOf(t, closedPort(t), "{token: a}"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	kept := make(chan error, 1)
	go func() { kept <- link.Keep(ctx) }()
	waiting := asking(t, link)
	cancel()
	require.NoError(t, <-kept)
	require.ErrorIs(t, <-waiting, errOver)
	require.ErrorIs(t, <-asking(t, link), errOver, "nothing passes by an agent that has lost its Lease")
	link.up()
	require.ErrorIs(t, <-asking(t, link), errOver, "one whose connection fails waits for no other")
}

// TestNothingPassesAGateBecauseTheProcessEnds is for an agent that has lost its Lease.
func TestNothingPassesAGateBecauseTheProcessEnds(t *testing.T) {
	g := &gate{}
	g.shut()
	g.end()
	require.ErrorIs(t, g.wait(t.Context()), errOver)
	g.lift()
	require.NoError(t, g.wait(t.Context()), "what is reached again is used to the end")
}

// TestAnAgentThatIsToEndWhileItStartsEnds has no landscaper cluster to begin to work at.
func TestAnAgentThatIsToEndWhileItStartsEnds(t *testing.T) {
	link, err := OpenLink(kubeconfigOf(t, closedPort(t), "{token: a}"))
	require.NoError(t, err)
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	a := &Agent{options: Options{Link: link, Configuration: &Configuration{Name: "e", LandscaperNamespace: "n"}, Scheme: scheme}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.work(ctx) }()
	cancel()
	require.NoError(t, <-ended, "that is no failure")
}

func TestNewFilesAreUsed(t *testing.T) {
	address, authority := echo(t)
	path := kubeconfigOf(t, address, "{tokenFile: token}", authority...)
	link, err := OpenLink(path)
	require.NoError(t, err)
	link.up()
	assert.Equal(t, "Bearer first", get(t, link))
	client := link.Config() // clients live longer than credentials
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(path), "token"), []byte("second\n"), 0o600))
	changed, err := link.Reload()
	require.NoError(t, err)
	assert.True(t, changed)
	assert.Equal(t, "Bearer second", get(t, link))
	changed, err = link.Reload()
	require.NoError(t, err)
	assert.False(t, changed)
	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, err = link.Reload()
	require.Error(t, err)
	assert.Equal(t, "Bearer second", get(t, link), "what cannot be read changes nothing")
	assert.Equal(t, link.Config().Host, client.Host)
}

func TestKubeconfigsThatRunCommandsAreRefused(t *testing.T) {
	_, err := OpenLink(kubeconfigOf(t, "https://a", "{exec: {apiVersion: client.authentication.k8s.io/v1, command: a, interactiveMode: Never}}"))
	assert.ErrorContains(t, err, "runs a command")
}

func TestServerOfTheEnvironmentHasNoCredentials(t *testing.T) {
	link, err := OpenLink(kubeconfigOf(t, "https://a:1", "{token: secret}"))
	require.NoError(t, err)
	assert.Equal(t, "https://a:1", link.Server().Host)
	assert.NotContains(t, fmt.Sprintf("%+v", link.Server()), "secret")
}

func TestKubeconfigsKnowTheProxyOfTheEnvironmentVariables(t *testing.T) {
	proxy := &url.URL{Scheme: "socks5h", Host: "proxy.example.com"}
	server := serverOf(&rest.Config{Proxy: http.ProxyURL(proxy)}, &url.URL{Scheme: "https", Host: "a:1"})
	assert.Equal(t, "socks5://proxy.example.com", server.ProxyURL)
	assert.Equal(t, "socks5h", proxy.Scheme, "the connections of the process go by it")
}

// The deployers of the Environment take the same way as the agent.
func TestServerOfTheEnvironmentNamesTheProxy(t *testing.T) {
	for name, c := range map[string]struct{ proxy, wants string }{
		"none":       {"", ""},
		"a proxy":    {"http://proxy.example.com:3128", "http://proxy.example.com:3128"},
		"of SOCKS":   {"socks5://proxy.example.com", "socks5://proxy.example.com"},
		"with login": {"http://me:secret@proxy.example.com", ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := kubeconfigOf(t, "https://a:1", "{token: b}")
			config, err := clientcmd.LoadFromFile(path)
			require.NoError(t, err)
			config.Clusters["c"].ProxyURL = c.proxy
			require.NoError(t, clientcmd.WriteToFile(*config, path))

			link, err := OpenLink(path)

			require.NoError(t, err)
			assert.Equal(t, c.wants, link.Server().ProxyURL)
		})
	}
}
