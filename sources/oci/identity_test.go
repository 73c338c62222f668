// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// party is an identity whose login a test changes.
type party struct {
	name, host string

	mu       sync.Mutex
	password string
	err      error
	logins   int
}

func (p *party) Fits(host string) bool { return host == p.host }
func (p *party) Fingerprint() string   { return p.name }
func (p *party) String() string        { return "the " + p.name }

func (p *party) Login(context.Context, string) (user, password string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.logins++
	return "cloud", p.password, p.err
}

func (p *party) becomes(password string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.password, p.err = password, err
}

// cloud is a registry with TLS that knows the passwords of one user, and a party for it with a client that trusts it.
func cloud(t *testing.T, token bool, passwords ...string) (*registry.Registry, *party, *Client) {
	o := registry.Options{TLS: true, Token: token, Public: []string{"public"}}
	for _, password := range passwords {
		o.Users = append(o.Users, registry.User{Name: "cloud", Password: password})
	}
	r := registry.Start(t, o)
	return r, &party{name: "party", host: r.Host, password: passwords[0]}, newClient(t, func(o *Options) { o.CA = r.CA })
}

func asParty(p *party) PullOptions { return PullOptions{Credentials: FromIdentity(p)} }

func TestIdentitiesLogIn(t *testing.T) {
	for door, token := range map[string]bool{"basic": false, "token": true} {
		t.Run(door, func(t *testing.T) {
			r, p, c := cloud(t, token, "one")
			ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
			for range 3 {
				b, err := c.Pull(ctx, "https://"+ref, asParty(p))
				require.NoError(t, err)
				assert.Equal(t, "chart", string(b.Bytes))
			}
			assert.Equal(t, 1, p.logins)
		})
	}
}

func TestIdentitiesLogInOnlyWhereTheyAreAsked(t *testing.T) {
	r, p, c := cloud(t, false, "one")
	ref, _ := r.Push(t, "public", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := c.Pull(ctx, "https://"+ref, asParty(p))
	require.NoError(t, err)
	assert.Zero(t, p.logins)
}

func TestNewLoginsOfAnIdentityKeepItsCache(t *testing.T) {
	r, p, c := cloud(t, false, "one", "two")
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := c.Pull(ctx, "https://"+ref, asParty(p))
	require.NoError(t, err)
	p.becomes("two", nil)
	c.now = func() time.Time { return time.Now().Add(time.Hour) }
	_, err = c.Pull(ctx, "https://"+ref, asParty(p))
	require.NoError(t, err)
	assert.Equal(t, 2, p.logins, "a login is not used for longer than it is good")
	assert.Equal(t, 1, r.Count("GET", "blobs"))
}

func TestAnotherIdentityGainsNothing(t *testing.T) {
	r, p, c := cloud(t, false, "one")
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := c.Pull(ctx, "https://"+ref, asParty(p))
	require.NoError(t, err)
	other := &party{name: "other", host: r.Host, password: "wrong"}
	_, err = c.Pull(ctx, "https://"+ref, asParty(other))
	require.ErrorIs(t, err, ErrUnauthorized)
	assert.ErrorContains(t, err, "let the other read the repository")
	r.Down()
	_, err = c.Pull(ctx, "https://"+ref, asParty(other))
	require.Error(t, err)
	_, err = c.Pull(ctx, "https://"+ref, asParty(p))
	require.NoError(t, err, "what the registry said last counts for whom it said it to")
}

func TestAnIdentityWithoutLoginLosesItsCache(t *testing.T) {
	unreachable := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, tc := range map[string]struct {
		err  error
		kept bool
	}{
		"refused by its cloud":        {errors.New("the role is gone"), false},
		"its cloud cannot be reached": {fmt.Errorf("ask the cloud: %w", unreachable), true},
	} {
		t.Run(name, func(t *testing.T) {
			r, p, c := cloud(t, false, "one")
			ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "chart"))
			_, err := c.Pull(ctx, "https://"+ref, asParty(p))
			require.NoError(t, err)
			p.becomes("", tc.err)
			c.now = func() time.Time { return time.Now().Add(time.Hour) }
			b, err := c.Pull(ctx, "https://"+ref, asParty(p))
			if tc.kept {
				require.NoError(t, err)
				assert.True(t, b.Stale)
				return
			}
			require.ErrorContains(t, err, "log in as the party: the role is gone")
			require.NotErrorIs(t, err, ErrUnauthorized, "it is tried again")
			r.Down()
			_, err = c.Pull(ctx, "https://"+ref, asParty(p))
			require.Error(t, err)
		})
	}
}

func TestIdentitiesComeAfterWrittenLogins(t *testing.T) {
	for name, key := range map[string]string{"host": "127.0.0.1:5000", "path": "127.0.0.1:5000/team", "pattern": "*.0.0.1:5000"} {
		t.Run(name, func(t *testing.T) {
			p := &party{host: "127.0.0.1:5000"}
			both := Join(FromIdentity(p), credentials(t, map[string]string{key: "user:password"}))
			found := both.Find(Place{Scheme: "https", Host: "127.0.0.1:5000", Repository: "team/web"})
			assert.Nil(t, found.Identity())
			written, err := found.Credential(p.host)(t.Context(), p.host)
			require.NoError(t, err)
			assert.Equal(t, "user", written.Username)
		})
	}
}

func TestIdentitiesNeedTLS(t *testing.T) {
	c := FromIdentity(&party{host: "a"})
	for scheme, want := range map[string]bool{"https": true, "http": false, "": false} {
		assert.Equal(t, want, c.Find(Place{Scheme: scheme, Host: "a", Repository: "web"}).Identity() != nil, scheme)
	}
	assert.True(t, c.Find(Place{Scheme: "https", Host: "b", Repository: "web"}).Anonymous())
}

// echo repeats the password of a request.
func echo(_ *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
	_, password, ok := request.BasicAuth()
	if !ok {
		return false
	}
	w.WriteHeader(http.StatusBadRequest)
	_, _ = fmt.Fprintf(w, `{"errors":[{"code":"UNSUPPORTED","message":%q}]}`, "not with "+password)
	return true
}

func TestPasswordsOfIdentitiesAreHidden(t *testing.T) {
	r, p, c := cloud(t, false, "one")
	p.becomes("hunter2", nil)
	r.Break(registry.On("", "manifests", echo))
	_, err := c.Pull(ctx, "https://"+r.Ref("private", "1.0.0"), asParty(p))
	require.ErrorContains(t, err, "<hidden>")
	assert.NotContains(t, err.Error(), "hunter2")
	assert.NotContains(t, fmt.Sprintf("%v %+v %#v", asParty(p).Credentials, asParty(p).Credentials, asParty(p).Credentials), "hunter2")
}

// repeating answers with what a function makes of the login of a request.
func repeating(say func(request *http.Request, password string) string) registry.Fault {
	return func(_ *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
		_, password, ok := request.BasicAuth()
		if !ok {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		message, _ := json.Marshal(say(request, password))
		_, _ = fmt.Fprintf(w, `{"errors":[{"code":"DENIED","message":%s}]}`, message)
		return true
	}
}

func TestWhatARegistryRepeatsOfALoginIsHidden(t *testing.T) {
	const user, password = "somebody", `hunter2&"x`
	for name, say := range map[string]func(request *http.Request, password string) string{
		"password":   func(_ *http.Request, password string) string { return "not with " + password },
		"quoted":     func(_ *http.Request, password string) string { return fmt.Sprintf("not with %q", password) },
		"in a query": func(_ *http.Request, password string) string { return "password=" + url.QueryEscape(password) },
		"header":     func(r *http.Request, _ string) string { return "who are you? " + r.Header.Get("Authorization") },
		"without Basic": func(r *http.Request, _ string) string {
			return strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
		},
		"all headers":   func(r *http.Request, _ string) string { return fmt.Sprint(r.Header) },
		"another token": func(*http.Request, string) string { return "Authorization: Bearer hunter2.token-of-somebody" },
		"plain words":   func(*http.Request, string) string { return "no basic authentication here" },
		"cut":           func(_ *http.Request, password string) string { return strings.Repeat("x", 275) + password },
		"header, cut": func(r *http.Request, _ string) string {
			return strings.Repeat("x", 270) + strings.TrimPrefix(r.Header.Get("Authorization"), "Basic ")
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{Users: []registry.User{{Name: user, Password: password}}})
			r.Break(repeating(say))
			config, err := json.Marshal(map[string]any{"auths": map[string]any{r.Host: map[string]string{"username": user, "password": password}}})
			require.NoError(t, err)
			login, err := ParseDockerConfig(config)
			require.NoError(t, err)

			_, err = newClient(t, nil).Pull(ctx, r.Ref("private", "1.0.0"), PullOptions{Credentials: login})

			require.ErrorIs(t, err, ErrUnauthorized)
			assert.Contains(t, err.Error(), "the registry answers 403")
			assert.NotContains(t, err.Error(), "hunter")
			if name == "plain words" {
				assert.Contains(t, err.Error(), "basic authentication")
			}
			assert.NotContains(t, err.Error(), base64.StdEncoding.EncodeToString([]byte(user + ":" + password))[:12])
		})
	}
}

func TestUsersWithoutPasswordAreRefusedAtOnce(t *testing.T) {
	for name, config := range map[string]string{
		"fields": `{"auths": {"registry.example.com": {"username": "somebody"}}}`,
		"auth":   `{"auths": {"registry.example.com": {"auth": "c29tZWJvZHk6"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseSecret("pull", map[string][]byte{".dockerconfigjson": []byte(config)})
			for _, part := range []string{"secret pull", ".dockerconfigjson", `entry "registry.example.com"`, "no password", "add the password"} {
				require.ErrorContains(t, err, part)
			}
		})
	}
	_, err := ParseOCMConfig([]byte(strings.TrimSpace(`
type: credentials.config.ocm.software
consumers: [{identity: {type: OCIRegistry, hostname: registry.example.com}, credentials: [{properties: {username: somebody}}]}]`)))
	require.ErrorContains(t, err, `consumers[0]: host "registry.example.com": it has a user but no password`)
}

func TestAuthoritiesAreTrustedForTheirHost(t *testing.T) {
	r := registry.Start(t, registry.Options{TLS: true})
	ref, _ := r.Push(t, "web", "1.0.0", layer(HelmChartLayer, "chart"))
	trusting, err := FromAuthority(r.Host, r.CA)
	require.NoError(t, err)
	_, err = newClient(t, nil).Pull(ctx, ref, PullOptions{Credentials: trusting})
	require.NoError(t, err)
	elsewhere, err := FromAuthority("127.0.0.1:1", r.CA)
	require.NoError(t, err)
	_, err = newClient(t, nil).Pull(ctx, "https://"+ref, PullOptions{Credentials: elsewhere})
	require.ErrorContains(t, err, "trust its authority")
	_, err = FromAuthority(r.Host, []byte("hunter2"))
	require.EqualError(t, err, "it holds no certificate; give PEM blocks of type CERTIFICATE")
}
