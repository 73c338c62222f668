// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/tests/largekey"
)

const ocmExample = `
type: generic.config.ocm.software/v1
configurations:
- type: logging.config.ocm.software
  settings: {}
- type: credentials.config.ocm.software
  consumers:
  - identity: {type: OCIRegistry, hostname: example.com, pathprefix: team/shop}
    credentials:
    - type: Credentials
      properties: {username: shop, password: hunter2}
  - identity: {type: OCIRegistry/v1, hostname: ported.example.com, port: 5000, scheme: https}
    credentials:
    - type: Credentials/v1
      properties: {username: ported, password: hunter2}
  - identities:
    - {type: OCIRegistry/v1, hostname: one.example.com}
    - {type: ociRegistry, hostname: "two.example.com:5000"}
    credentials:
    - properties: {identityToken: hunter2}
  - identity: {type: HelmChartRepository, hostname: charts.example.com}
    credentials:
    - type: Credentials
      properties: {username: charts, password: hunter2}
  - identity: {type: OCIRegistry, hostname: "*.pkg.dev"}
    credentials:
    - type: Credentials
      properties: {accessToken: hunter2}
  repositories:
  - repository:
      type: DockerConfig/v1
      propagateConsumerIdentity: true
      dockerConfig: {auths: {docker.example.com: {username: docker, password: hunter2}}}
  - repository:
      type: DockerConfig/v1
      dockerConfig: '{"auths": {"text.example.com": {"username": "text", "password": "hunter2"}}}'
  - repository: {type: Vault/v1}
`

func TestParseOCMConfig(t *testing.T) {
	c, err := ParseOCMConfig([]byte(ocmExample))
	require.NoError(t, err)
	user := func(name string) auth.Credential { return auth.Credential{Username: name, Password: "hunter2"} }
	for at, want := range map[string]auth.Credential{
		"https|example.com|team/shop/web":  user("shop"),
		"https|example.com:5000|team/shop": user("shop"),
		"https|example.com|team":           {},
		"https|ported.example.com:5000|x":  user("ported"),
		"|ported.example.com:5000|x":       user("ported"),
		"http|ported.example.com:5000|x":   {},
		"https|ported.example.com|x":       {},
		"https|one.example.com:443|x":      {RefreshToken: "hunter2"},
		"https|two.example.com:5000|x":     {RefreshToken: "hunter2"},
		"https|two.example.com|x":          {},
		"https|charts.example.com|x":       {},
		"https|europe.pkg.dev|x":           {AccessToken: "hunter2"},
		"https|docker.example.com|x":       user("docker"),
		"https|docker.example.com:5000|x":  {},
		"https|text.example.com|x":         user("text"),
	} {
		t.Run(at, func(t *testing.T) {
			parts := strings.Split(at, "|")
			require.Equal(t, want, c.Find(Place{parts[0], parts[1], parts[2]}).auth)
		})
	}
}

// user is a consumer of an OCM configuration with a user of that name.
func user(name, identity string) string {
	return "\n- identity: {type: OCIRegistry" + identity + "}\n  credentials: [{type: Credentials, properties: {username: " + name + ", password: hunter2}}]"
}

func TestConsumersWithoutHostnameFitAll(t *testing.T) {
	c, err := ParseOCMConfig([]byte("type: credentials.config.ocm.software\nconsumers:" + user("any", "") + user("port", ", port: 5000") +
		user("path", ", pathprefix: team") + user("deep", ", pathprefix: team/shop") + user("host", ", hostname: example.com") +
		user("pattern", ", hostname: '*.example.com'") + user("ported", ", hostname: example.com, port: 5000") +
		user("plain", ", scheme: http, hostname: plain.example.com")))
	require.NoError(t, err)
	require.Empty(t, c.Warnings())
	for at, want := range map[string]string{
		"https|other.com|x": "any", "https|other.com:5000|x": "port", "https|other.com|team/x": "path", "https|other.com:5000|team/x": "path",
		"https|other.com|team/shop/x": "deep", "https|other.com|teams/x": "any", "https|example.com|x": "host", "https|example.com|team/x": "path",
		"https|a.example.com|x": "pattern", "https|example.com:5000|x": "ported", "https|example.com:6000|x": "host",
		"https|plain.example.com|x": "pattern", "http|plain.example.com|x": "plain",
	} {
		parts := strings.Split(at, "|")
		require.Equal(t, want, c.Find(Place{parts[0], parts[1], parts[2]}).auth.Username, at)
	}
}

func TestWhatCannotBeUsedIsOneWarning(t *testing.T) {
	c, err := ParseOCMConfig([]byte("type: generic.config.ocm.software/v1\nconfigurations:\n- type: credentials.config.ocm.software\n  consumers:" +
		strings.ReplaceAll(user("used", ", hostname: example.com"), "\n", "\n  ") +
		"\n  - identity: {type: OCIRegistry, hostname: vault.example.com}\n    credentials: [{type: Vault, credentialsName: hunter2}]\n" +
		"  repositories:\n  - repository: {type: DockerConfig/v1, dockerConfigFile: ~/.docker/hunter2.json}\n"))
	require.NoError(t, err)
	require.Equal(t, "used", c.Find(Place{"https", "example.com", "x"}).auth.Username)
	require.Len(t, c.Warnings(), 2)
	require.Contains(t, c.Warnings()[0], `configurations[0]: consumers[1]: host "vault.example.com": credentials of type "Vault" cannot be used: it is left out`)
	require.Contains(t, c.Warnings()[1], "configurations[0]: repositories[0]: it names a Docker configuration on a disk, which is never read")
	require.NotContains(t, strings.Join(c.Warnings(), ""), "hunter2")
	secret, err := ParseSecret("pull", map[string][]byte{".ocmcredentialconfig": []byte(
		"type: credentials.config.ocm.software\nrepositories: [{repository: {type: DockerConfig, dockerConfigFile: x}}]")})
	require.NoError(t, err)
	require.Len(t, Join(secret, c).Warnings(), 3)
	require.Contains(t, secret.Warnings()[0], "secret pull: key .ocmcredentialconfig: repositories[0]")
}

func TestAnExactPortBeatsAnyPort(t *testing.T) {
	c := Credentials{entries: []entry{
		{host: "example.com", anyPort: true, Login: Login{auth: auth.Credential{Username: "any"}}},
		{host: "example.com:5000", Login: Login{auth: auth.Credential{Username: "exact"}}},
	}}
	require.Equal(t, "exact", c.Find(Place{"https", "example.com:5000", "x"}).auth.Username)
	require.Equal(t, "any", c.Find(Place{"https", "example.com:5001", "x"}).auth.Username)
}

func TestParseOCMConfigAlone(t *testing.T) {
	c, err := ParseOCMConfig([]byte(`{"type":"credentials.config.ocm.software","consumers":[{"identity":{"type":"OCIRegistry","hostname":"a"},"credentials":[{"type":"Credentials","properties":{"username":"u","password":"p"}}]}]}`))
	require.NoError(t, err)
	require.Equal(t, "u", c.Find(Place{"https", "a", "x"}).auth.Username)
}

func TestParseOCMConfigErrorsHideTheContent(t *testing.T) {
	consumer := func(identity, credentials string) string {
		return "type: credentials.config.ocm.software\nconsumers:\n- identity: " + identity + "\n  credentials: " + credentials
	}
	for name, tc := range map[string]struct{ raw, says string }{
		"no YAML":         {"hunter2: [", "not an OCM configuration"},
		"a text":          {"hunter2", "not an OCM configuration"},
		"a Docker config": {`{"auths":{"hunter2":{}}}`, "not an OCM configuration"},
		"other type":      {"type: hunter2", "not an OCM configuration"},
		"user in host":    {consumer("{type: OCIRegistry, hostname: 'u:hunter2@a'}", "[]"), "not a host name"},
		"bad authority":   {consumer("{type: OCIRegistry, hostname: a}", "[{properties: {certificateAuthority: hunter2}}]"), "certificateAuthority holds no certificate"},
		"large key":       {consumer("{type: OCIRegistry, hostname: a}", fmt.Sprintf("[{properties: {certificateAuthority: %q}}]", largekey.Certificate(t, egress.LargestKey+1))), "use a smaller key"},
		"bad docker":      {"type: credentials.config.ocm.software\nrepositories: [{repository: {type: DockerConfig/v1, dockerConfig: {hunter2: 1}}}]", "repositories[0]: it is not a Docker configuration"},
		"nested":          {"type: generic.config.ocm.software\nconfigurations: [{}, {type: credentials.config.ocm.software, consumers: [{identity: {type: OCIRegistry, hostname: a/b}}]}]", "configurations[1]: consumers[0]"},
		"a bomb of texts": {"a: &a " + strings.Repeat("hunter2", 20_000) + "\nb: [" + strings.Repeat("*a, ", 20_000) + "]", "counting those behind aliases"},
		"deep":            {strings.Repeat("[", 256<<10), "not an OCM configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseOCMConfig([]byte(tc.raw))
			require.ErrorContains(t, err, tc.says)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestParseSecret(t *testing.T) {
	docker := dockerConfigOf(map[string]string{"docker.example.com": "docker:hunter2"})
	c, err := ParseSecret("pull", map[string][]byte{
		".dockerconfigjson":    docker,
		".dockercfg":           []byte(`{"old.example.com":{"username":"old","password":"hunter2"}}`),
		".ocmcredentialconfig": []byte(ocmExample),
		"config.json":          dockerConfigOf(map[string]string{"other.example.com": "other:hunter2"}),
		"password":             []byte("hunter2"),
		"number":               []byte("1"),
	})
	require.NoError(t, err)
	for host, want := range map[string]string{"docker.example.com": "docker", "old.example.com": "old", "example.com": "", "other.example.com": "other", "text.example.com": "text"} {
		require.Equal(t, want, c.Find(Place{"https", host, "x"}).auth.Username, host)
	}
	require.NotContains(t, c.String(), "hunter2")
}

func TestParseSecretWithoutLogins(t *testing.T) {
	c, err := ParseSecret("pull", map[string][]byte{"password": []byte("hunter2")})
	require.NoError(t, err)
	require.Empty(t, c.entries)
}

func TestParseSecretNamesTheKey(t *testing.T) {
	for key, says := range map[string]string{
		".dockerconfigjson":    "secret pull: key .dockerconfigjson: it is not a Docker configuration",
		".dockercfg":           "secret pull: key .dockercfg: it is not a Docker configuration",
		".ocmcredentialconfig": "secret pull: key .ocmcredentialconfig: it is not an OCM configuration",
	} {
		t.Run(key, func(t *testing.T) {
			_, err := ParseSecret("pull", map[string][]byte{key: []byte("hunter2")})
			require.ErrorContains(t, err, says)
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestJoinPrefersTheFirst(t *testing.T) {
	first, second := allCredentials(t, map[string]string{"a": "first:1"}), allCredentials(t, map[string]string{"a": "second:2", "b": "second:2"})
	joined := Join(first, Credentials{}, second)
	require.Equal(t, "first", joined.Find(Place{"https", "a", "x"}).auth.Username)
	require.Equal(t, "second", joined.Find(Place{"https", "b", "x"}).auth.Username)
}

// FuzzOCMConfig feeds any bytes to the parser: it must not panic or hang, what it finds must be found again, and its errors
// must not repeat a secret.
func FuzzOCMConfig(f *testing.F) {
	f.Add([]byte(ocmExample))
	f.Add([]byte("type: credentials.config.ocm.software\nconsumers: [{identity: {type: OCIRegistry, hostname: '[::1]:5000'}}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		c, err := ParseOCMConfig(raw)
		if err != nil {
			require.Empty(t, c.entries)
			return
		}
		require.NotContains(t, c.String(), "hunter2")
		for _, e := range c.entries {
			repository := e.prefix
			if repository == "" {
				repository = "any"
			}
			require.NotZero(t, e.rank(Place{"", e.host, repository}))
		}
	})
}
