// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/tests/largekey"
)

// secretMarker stands for a credential in kubeconfigs; no error may show it.
const secretMarker = "top-secret-value"

const goodKubeconfig = `
apiVersion: v1
kind: Config
current-context: main
contexts:
- name: main
  context: {cluster: c, user: u}
clusters:
- name: c
  cluster: {server: "https://api.example.com:6443", tls-server-name: api}
users:
- name: u
  user: {token: top-secret-value}
`

func TestSanitiseKeepsWhatReachesTheServer(t *testing.T) {
	config, _, err := tlsPolicy{}.sanitise([]byte(goodKubeconfig))
	require.NoError(t, err)
	assert.Equal(t, "https://api.example.com:6443", config.Host)
	assert.Equal(t, secretMarker, config.BearerToken)
	assert.Equal(t, "api", config.ServerName)
}

func TestSanitisedKubeconfigMeansTheSame(t *testing.T) {
	config, written, err := tlsPolicy{}.sanitise([]byte(goodKubeconfig))
	require.NoError(t, err)
	loaded, err := clientcmd.RESTConfigFromKubeConfig(written)
	require.NoError(t, err)
	assert.Equal(t, config.Host, loaded.Host)
	assert.Equal(t, config.BearerToken, loaded.BearerToken)
	assert.Equal(t, config.ServerName, loaded.ServerName)
}

func TestSanitiseRefuses(t *testing.T) {
	user := func(fields string) string {
		return strings.Replace(goodKubeconfig, "token: top-secret-value", "token: top-secret-value, "+fields, 1)
	}
	cluster := func(fields string) string {
		return strings.Replace(goodKubeconfig, "tls-server-name: api", fields, 1)
	}
	server := func(url string) string {
		return strings.Replace(goodKubeconfig, "https://api.example.com:6443", url, 1)
	}
	tests := map[string]struct{ kubeconfig, field string }{
		"exec":                        {user("exec: {command: sh, apiVersion: client.authentication.k8s.io/v1}"), "users[u].user.exec"},
		"auth provider":               {user("auth-provider: {name: gcp}"), "users[u].user.auth-provider"},
		"token file":                  {user("tokenFile: /var/run/token"), "users[u].user.tokenFile"},
		"certificate file":            {user("client-certificate: /tls.crt"), "users[u].user.client-certificate"},
		"key file":                    {user("client-key: /tls.key"), "users[u].user.client-key"},
		"impersonation":               {user("as: admin"), "users[u].user.as"},
		"impersonated uid":            {user("as-uid: '1'"), "users[u].user.as-uid"},
		"impersonated groups":         {user("as-groups: [system:masters]"), "users[u].user.as-groups"},
		"impersonated extra":          {user("as-user-extra: {a: [b]}"), "users[u].user.as-user-extra"},
		"authority file":              {cluster("certificate-authority: /ca.crt"), "clusters[c].cluster.certificate-authority"},
		"proxy on a unix socket":      {cluster("proxy-url: 'unix:///proxy.sock'"), "clusters[c].cluster.proxy-url"},
		"proxy from a file":           {cluster("proxy-url: 'file:///proxy'"), "clusters[c].cluster.proxy-url"},
		"insecure TLS":                {cluster("insecure-skip-tls-verify: true"), "insecure-skip-tls-verify"},
		"plain http":                  {server("http://api.example.com"), "server"},
		"unix socket":                 {server("unix:///api.sock"), "server"},
		"credentials in the address":  {server("https://u:top-secret-value@api.example.com"), "server"},
		"no server":                   {server(""), "server"},
		"host that is no text":        {server("https://%ff.example.com"), "server"},
		"host of a megabyte":          {server("https://" + strings.Repeat("a", 1<<20)), "server"},
		"exec of an unused user":      {goodKubeconfig + "- name: other\n  user: {exec: {command: sh, apiVersion: v1}}\n", "users[other].user.exec"},
		"no current context":          {"contexts: [{name: a}, {name: b}]", "current-context"},
		"context that does not exist": {strings.Replace(goodKubeconfig, "current-context: main", "current-context: other", 1), "current-context"},
		"cluster that does not exist": {strings.Replace(goodKubeconfig, "cluster: c,", "cluster: d,", 1), "contexts[main].context.cluster"},
		"user that does not exist":    {strings.Replace(goodKubeconfig, "user: u}", "user: v}", 1), "contexts[main].context.user"},
		"nothing":                     {"", "current-context"},
		"text":                        {"top-secret-value", "the kubeconfig"},
		"broken YAML":                 {"a: [top-secret-value", "the kubeconfig"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, _, err := tlsPolicy{}.sanitise([]byte(test.kubeconfig))
			var refused *refusal
			require.ErrorAs(t, err, &refused)
			assert.Equal(t, test.field, refused.field)
			assert.NotEmpty(t, refused.cure)
			assert.NotContains(t, err.Error(), secretMarker)
			assert.NotContains(t, err.Error(), "KUBERNETES_MASTER")
		})
	}
}

func TestOperatorAllowsInsecureTLS(t *testing.T) {
	insecure := strings.Replace(goodKubeconfig, "tls-server-name: api", "insecure-skip-tls-verify: true, certificate-authority-data: eA==", 1)
	config, _, err := tlsPolicy{allowInsecure: true}.sanitise([]byte(insecure))
	require.NoError(t, err)
	assert.True(t, config.Insecure)
	assert.Empty(t, config.CAData)
}

func TestInsecureTargetsAreOpenedWhereTheOperatorAllowsThem(t *testing.T) {
	insecure := []byte(strings.Replace(goodKubeconfig, "tls-server-name: api", "insecure-skip-tls-verify: true, certificate-authority-data: eA==", 1))
	for name, allowed := range map[string]bool{"refused": false, "allowed": true} {
		t.Run(name, func(t *testing.T) {
			clients, err := New(Options{AllowInsecureTLS: allowed})
			require.NoError(t, err)
			_, err = clients.OpenKubeconfig("n", insecure)
			if !allowed {
				assert.ErrorContains(t, err, "insecure-skip-tls-verify")
				return
			}
			assert.NoError(t, err)
		})
	}
}

func TestAddressWithoutSchemeIsHTTPS(t *testing.T) {
	config, _, err := tlsPolicy{}.sanitise([]byte(strings.Replace(goodKubeconfig, "https://api", "api", 1)))
	require.NoError(t, err)
	assert.Equal(t, "https://api.example.com:6443", config.Host)
}

func TestSingleContextNeedsNoCurrentContext(t *testing.T) {
	_, _, err := tlsPolicy{}.sanitise([]byte(strings.Replace(goodKubeconfig, "current-context: main", "", 1)))
	assert.NoError(t, err)
}

func TestProxyIsKept(t *testing.T) {
	proxied := strings.Replace(goodKubeconfig, "tls-server-name: api", "proxy-url: 'socks5://proxy:1080'", 1)
	config, written, err := tlsPolicy{}.sanitise([]byte(proxied))
	require.NoError(t, err)
	assert.Equal(t, "socks5://proxy:1080", proxyOf(config))
	assert.Contains(t, string(written), "socks5://proxy:1080")
}

// FuzzSanitise feeds arbitrary contents: nothing that gets through refers to files, commands, plugins or other identities.
func FuzzSanitise(f *testing.F) {
	f.Add([]byte(goodKubeconfig))
	f.Add([]byte(`{"kubeconfig":` + `"a: b"}`))
	f.Add([]byte(`{"selfConfig":{"serviceAccount":{"name":"a"}}}`))
	f.Add([]byte(strings.Replace(goodKubeconfig, "token:", "EXEC: {command: x}, tokenFile: /x, token:", 1)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := parseContent(raw)
		if err != nil || parsed.kubeconfig == nil {
			return
		}
		config, written, err := tlsPolicy{}.sanitise(parsed.kubeconfig)
		if err != nil {
			return
		}
		require.Nil(t, config.ExecProvider)
		require.Nil(t, config.AuthProvider)
		require.Empty(t, config.BearerTokenFile+config.CAFile+config.CertFile+config.KeyFile)
		require.Empty(t, config.Impersonate.UserName+config.Impersonate.UID)
		require.True(t, strings.HasPrefix(strings.ToLower(config.Host), "https://"))
		loaded, err := clientcmd.Load(written)
		require.NoError(t, err)
		require.Len(t, loaded.Clusters, 1)
	})
}

func TestL2ConnectionsDifferInAllThatReachesTheServer(t *testing.T) {
	clients, err := New(Options{})
	require.NoError(t, err)
	connection := func(kubeconfig string) *rest.Config {
		cluster, err := clients.OpenKubeconfig("n", []byte(kubeconfig))
		require.NoError(t, err)
		return cluster.Config
	}
	own := connection(goodKubeconfig)
	assert.Same(t, own, connection(goodKubeconfig), "whoever has the same kubeconfig has the same connection")
	for name, other := range map[string]string{
		"server":      strings.Replace(goodKubeconfig, "api.example.com", "other.example.com", 1),
		"credentials": strings.Replace(goodKubeconfig, secretMarker, "of somebody else", 1),
		"server name": strings.Replace(goodKubeconfig, "tls-server-name: api", "tls-server-name: other", 1),
		"proxy":       strings.Replace(goodKubeconfig, "tls-server-name: api", "proxy-url: http://proxy.example.com:3128, tls-server-name: api", 1),
	} {
		assert.NotSame(t, own, connection(other), name)
	}
}

// TestKeysThatTakeDaysAreRefused has a prime that is much larger than the modulus, which the standard library would compute with before it compares them.
func TestKeysThatTakeDaysAreRefused(t *testing.T) {
	key := largekey.Private(t, largekey.WithPrime(16_000))
	kubeconfig := strings.Replace(goodKubeconfig, "token: ", fmt.Sprintf("client-certificate-data: %s, client-key-data: %s, token: ", encoded(key), encoded(key)), 1)
	require.NotEqual(t, goodKubeconfig, kubeconfig)
	clients, err := New(Options{})
	require.NoError(t, err)
	_, err = clients.OpenKubeconfig("n", []byte(kubeconfig))
	require.ErrorContains(t, err, "certificates or keys cannot be used; an RSA key has numbers of 16000 bits")
}

func TestAuthoritiesWithLargeKeysAreRefused(t *testing.T) {
	authority := encoded(largekey.Certificate(t, egress.LargestKey+1))
	clients, err := New(Options{})
	require.NoError(t, err)
	_, err = clients.OpenKubeconfig("n", []byte(strings.Replace(goodKubeconfig, "tls-server-name: api", "certificate-authority-data: "+authority, 1)))
	require.ErrorContains(t, err, "use a smaller key")
}
