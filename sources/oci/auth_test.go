// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

var somebody = registry.User{Name: "somebody", Password: "right", IdentityToken: "identity"}

func TestLogins(t *testing.T) {
	for door, token := range map[string]bool{"basic": false, "token": true} {
		r := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: token, Public: []string{"public"}})
		private, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
		public, _ := r.Push(t, "public", "1.0.0", layer(HelmChartLayer, "chart"))
		for name, tc := range map[string]struct {
			ref, login string
			want       error
		}{
			"right":                                 {private, "somebody:right", nil},
			"wrong password":                        {private, "somebody:wrong", ErrUnauthorized},
			"nobody":                                {private, "", ErrUnauthorized},
			"nobody at a public repository":         {public, "", nil},
			"wrong password at a public repository": {public, "somebody:wrong", nil},
		} {
			t.Run(door+"/"+name, func(t *testing.T) {
				o := PullOptions{}
				if tc.login != "" {
					o = as(t, r, tc.login)
				}
				b, err := newClient(t, nil).Pull(ctx, tc.ref, o)
				require.ErrorIs(t, err, tc.want)
				if tc.want == nil {
					require.Equal(t, "chart", string(b.Bytes))
				}
			})
		}
	}
}

func TestIdentityToken(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: true})
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
	for token, want := range map[string]error{"identity": nil, "other": ErrUnauthorized} {
		t.Run(token, func(t *testing.T) {
			c, err := ParseDockerConfig([]byte(fmt.Sprintf(`{"auths":{%q:{"identitytoken":%q}}}`, r.Host, token)))
			require.NoError(t, err)
			_, err = newClient(t, nil).Pull(ctx, ref, PullOptions{Credentials: c})
			require.ErrorIs(t, err, want)
		})
	}
}

func TestTokensAreAskedForOnce(t *testing.T) {
	r, c := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: true}), newClient(t, nil)
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
	for range 5 {
		_, err := c.Pull(ctx, ref, as(t, r, "somebody:right"))
		require.NoError(t, err)
	}
	require.Equal(t, 1, r.Count("GET", "token"))
	r.RevokeTokens()
	_, err := c.Pull(ctx, ref, as(t, r, "somebody:right"))
	require.NoError(t, err, "a token that has ended is replaced")
	require.Equal(t, 2, r.Count("GET", "token"))
}

func TestTokensBelongToTheirLogin(t *testing.T) {
	r, c := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: true}), newClient(t, nil)
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := c.Pull(ctx, ref, as(t, r, "somebody:right"))
	require.NoError(t, err)
	for name, o := range map[string]PullOptions{"nobody": {}, "wrong password": as(t, r, "somebody:wrong")} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Pull(ctx, ref, o)
			require.ErrorIs(t, err, ErrUnauthorized)
		})
	}
}

func TestAUserOfOtherRepositories(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{{Name: "a", Password: "1", Repositories: []string{"own"}}}})
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := newClient(t, nil).Pull(ctx, ref, as(t, r, "a:1"))
	require.ErrorIs(t, err, ErrUnauthorized)
	require.ErrorContains(t, err, "let its user read the repository")
}

// ocmDocument is the content of a Secret with key .ocmcredentialconfig.
func ocmDocument(t *testing.T, identity map[string]any, properties map[string]string) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"type": "generic.config.ocm.software/v1", "configurations": []any{map[string]any{
		"type":      "credentials.config.ocm.software/v1",
		"consumers": []any{map[string]any{"identity": identity, "credentials": []any{map[string]any{"type": "Credentials/v1", "properties": properties}}}},
	}}})
	require.NoError(t, err)
	return raw
}

// A private registry behind TLS with an authority of its own needs nothing but the pull secret.
func TestOCMCredentialsWithAuthority(t *testing.T) {
	for door, token := range map[string]bool{"basic": false, "token": true} {
		t.Run(door, func(t *testing.T) {
			r := registry.Start(t, registry.Options{TLS: true, Token: token, Users: []registry.User{somebody}})
			ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
			host, port, _ := strings.Cut(r.Host, ":")
			raw := ocmDocument(t, map[string]any{"type": "OCIRegistry", "scheme": "https", "hostname": host, "port": port, "pathprefix": "private"},
				map[string]string{"username": "somebody", "password": "right", "certificateAuthority": string(r.CA)})
			found, err := ParseSecret("pull", map[string][]byte{".ocmcredentialconfig": raw})
			require.NoError(t, err)
			c := newClient(t, nil)
			b, err := c.Pull(ctx, ref, PullOptions{Credentials: found})
			require.NoError(t, err)
			require.Equal(t, "chart", string(b.Bytes))
			_, err = c.Pull(ctx, "https://"+ref, as(t, r, "somebody:right"))
			require.ErrorContains(t, err, "certificate", "nobody else trusts that authority")
			require.ErrorContains(t, err, "certificateAuthority")
		})
	}
}

func TestATlsFailureIsNotTolerated(t *testing.T) {
	r := registry.Start(t, registry.Options{TLS: true})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	dir := t.TempDir()
	_, err := newClient(t, func(o *Options) { o.Dir, o.CA = dir, r.CA }).Pull(ctx, "https://"+ref, PullOptions{})
	require.NoError(t, err)
	_, err = at(t, dir).Pull(ctx, "https://"+ref, PullOptions{})
	require.ErrorContains(t, err, "certificate")
}

func TestTheHintNamesThePlaceForLogins(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{somebody}})
	_, err := newClient(t, func(o *Options) { o.LoginHint = "docker login" }).Pull(ctx, r.Ref("private", "1"), PullOptions{})
	require.ErrorContains(t, err, "add a login for this host (docker login)")
}

func TestLoginsOfTheOperator(t *testing.T) {
	for door, token := range map[string]bool{"basic": false, "token": true} {
		r := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: token, Public: []string{"public"}})
		private, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
		common := newClient(t, func(o *Options) { o.Logins = as(t, r, "somebody:right").Credentials })
		for name, tc := range map[string]struct {
			login string
			want  error
		}{
			"nobody":                         {"", nil},
			"an own login is used":           {"somebody:wrong", ErrUnauthorized},
			"an own login that fits as well": {"somebody:right", nil},
		} {
			t.Run(door+"/"+name, func(t *testing.T) {
				o := PullOptions{}
				if tc.login != "" {
					o = as(t, r, tc.login)
				}
				_, err := common.Pull(ctx, private, o)
				require.ErrorIs(t, err, tc.want)
			})
		}
	}
}

// Registries of clouds hand layers over at another server, which takes no login.
func TestBlobsMayComeFromAnotherServer(t *testing.T) {
	for door, token := range map[string]bool{"basic": false, "token": true} {
		t.Run(door, func(t *testing.T) {
			var seen atomic.Value
			storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Store(r.Header.Get("Authorization") + r.Header.Get("Cookie"))
				if r.Header.Get("Authorization") != "" {
					w.WriteHeader(http.StatusBadRequest) // as storages answer that are asked with two logins
					return
				}
				_, _ = io.WriteString(w, "chart")
			}))
			t.Cleanup(storage.Close)
			r, c := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Token: token}), newClient(t, nil)
			ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
			r.Break(registry.On("GET", "blobs", func(_ *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
				http.Redirect(w, request, storage.URL+"/blob?signature=x", http.StatusTemporaryRedirect)
				return true
			}))
			b, err := c.Pull(ctx, ref, as(t, r, "somebody:right"))
			require.NoError(t, err)
			require.Equal(t, "chart", string(b.Bytes))
			require.Equal(t, "", seen.Load())
		})
	}
}
