// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"oras.land/oras-go/v2/registry/remote/auth"
)

func TestFindTakesTheLongestMatch(t *testing.T) {
	c, err := ParseDockerConfig(
		dockerConfigOf(map[string]string{
			"example.com":                 "host:1",
			"https://example.com/team/":   "team:1",
			"example.com/team/shop":       "shop:1",
			"example.com:5000":            "port:1",
			"*.pkg.dev":                   "pattern:1",
			"europe.pkg.dev":              "exact:1",
			"https://index.docker.io/v1/": "hub:1",
		}),
		dockerConfigOf(map[string]string{"example.com": "second:1", "second.example.com": "second:1"}))
	require.NoError(t, err)
	for at, want := range map[string]string{
		"example.com|web":              "host",
		"example.com|team":             "team",
		"example.com|team/web":         "team",
		"example.com|teams/web":        "host",
		"example.com|team/shop":        "shop",
		"example.com|team/shop/web":    "shop",
		"example.com|team/shopping":    "team",
		"EXAMPLE.com|web":              "host",
		"example.com:5000|team/shop":   "port",
		"example.com:5001|team/shop":   "",
		"second.example.com|x":         "second",
		"us.pkg.dev|x":                 "pattern",
		"a.us.pkg.dev|x":               "",
		"pkg.dev|x":                    "",
		"europe.pkg.dev|x":             "exact",
		"docker.io|library/nginx":      "hub",
		"registry-1.docker.io|library": "hub",
		"evil-example.com|team":        "",
	} {
		t.Run(at, func(t *testing.T) {
			host, repository, _ := strings.Cut(at, "|")
			require.Equal(t, want, c.Find(Place{"https", host, repository}).auth.Username)
		})
	}
}

func TestParseDockerConfigForms(t *testing.T) {
	for name, tc := range map[string]struct {
		entry string
		want  auth.Credential
	}{
		"auth":             {`{"auth":"dXNlcjpwYTpzcw=="}`, auth.Credential{Username: "user", Password: "pa:ss"}},
		"auth unpadded":    {`{"auth":"dXNlcjpwYTpzcw"}`, auth.Credential{Username: "user", Password: "pa:ss"}},
		"auth beats names": {`{"auth":"dXNlcjpwYTpzcw==","username":"x","password":"y"}`, auth.Credential{Username: "user", Password: "pa:ss"}},
		"names":            {`{"username":"x","password":"y"}`, auth.Credential{Username: "x", Password: "y"}},
		"identity token":   {`{"identitytoken":"r"}`, auth.Credential{RefreshToken: "r"}},
		"registry token":   {`{"registrytoken":"a"}`, auth.Credential{AccessToken: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := ParseDockerConfig([]byte(`{"auths":{"example.com":` + tc.entry + `}}`))
			require.NoError(t, err)
			require.Equal(t, tc.want, c.Find(Place{"https", "example.com", "x"}).auth)
		})
	}
}

func TestParseDockerConfigErrorsHideTheContent(t *testing.T) {
	for name, tc := range map[string]struct{ raw, says string }{
		"not JSON":     {`hunter2`, "not a Docker configuration"},
		"no auths":     {`{"example.com":{"auth":"hunter2"}}`, "not a Docker configuration"},
		"wrong type":   {`{"auths":{"example.com":{"auth":"x","username":{"hunter2":1}}}}`, "not a Docker configuration"},
		"not base64":   {`{"auths":{"example.com":{"auth":"hunter2!"}}}`, `entry "example.com": auth is not the base64`},
		"no colon":     {`{"auths":{"example.com":{"auth":"aHVudGVyMg=="}}}`, `entry "example.com": auth is not the base64`},
		"user in host": {`{"auths":{"https://u:hunter2@example.com":{"auth":"!"}}}`, `entry "https://<hidden>@example.com"`},
		"too large":    {`{"auths":{"hunter2":{}}}` + strings.Repeat(" ", maxDockerConfig), "bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseDockerConfig(dockerConfigOf(nil), []byte(tc.raw))
			require.ErrorContains(t, err, tc.says)
			require.ErrorContains(t, err, "registry credentials 2 of 2")
			require.NotContains(t, err.Error(), "hunter2")
		})
	}
}

func TestCredentialsNeverPrint(t *testing.T) {
	type options struct{ Credentials Credentials }
	c := allCredentials(t, map[string]string{"example.com": "user:hunter2"})
	structured := new(strings.Builder)
	slog.New(slog.NewJSONHandler(structured, nil)).Info("pull", "credentials", c)
	raw, err := json.Marshal(options{Credentials: c})
	require.NoError(t, err)
	for _, printed := range []string{fmt.Sprint(c), fmt.Sprintf("%+v %#v %s %q", c, c, &c, []Credentials{c}),
		fmt.Sprintf("%+v %#v", options{Credentials: c}, options{Credentials: c}), structured.String(), string(raw)} {
		require.NotContains(t, printed, "hunter2")
		require.Contains(t, printed, "hidden")
	}
}

// FuzzDockerConfig feeds any bytes to the parser: it must not panic, what it finds must be found again, and its errors must
// not repeat a secret.
func FuzzDockerConfig(f *testing.F) {
	f.Add(dockerConfigOf(map[string]string{"https://index.docker.io/v1/": "a:b", "*.example.com/team": "c:d"}), "example.com", "team/x")
	f.Add([]byte(`{"auths":{"":{"auth":"!"}}}`), "", "")
	f.Add([]byte(`{"auths":{"[*":{"username":"hunter2"}},"credHelpers":{"x":"y"}}`), "[*", "")
	f.Fuzz(func(t *testing.T, raw []byte, host, repository string) {
		c, err := ParseDockerConfig(raw)
		if err != nil {
			require.Empty(t, c.entries)
			return
		}
		c.Find(Place{"https", host, repository})
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

// dockerConfig is a configuration of host → user:password.
func dockerConfigOf(logins map[string]string) []byte {
	auths := map[string]any{}
	for host, l := range logins {
		auths[host] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(l))}
	}
	raw, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		panic(err)
	}
	return raw
}

func allCredentials(t testing.TB, logins map[string]string) Credentials {
	c, err := ParseDockerConfig(dockerConfigOf(logins))
	require.NoError(t, err)
	return c
}
