// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// tokenPath is where the token server listens, beside the registry.
const tokenPath = "/token"

// tokens are the bearer tokens that were given out.
type tokens struct {
	mu    sync.Mutex
	given map[string]grant
}

// grant is what a token is good for.
type grant struct {
	user   User
	scopes []string
}

func newTokens() *tokens { return &tokens{given: map[string]grant{}} }

func (t *tokens) give(g grant) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	name := rand.Text()
	t.given[name] = g
	return name
}

func (t *tokens) find(name string) (grant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, ok := t.given[name]
	return g, ok
}

// RevokeTokens makes every token given so far worthless.
func (r *Registry) RevokeTokens() {
	r.tokens.mu.Lock()
	defer r.tokens.mu.Unlock()
	clear(r.tokens.given)
}

// identify returns the user of a request, and whether there is one.
func (r *Registry) identify(request *http.Request) (User, bool) {
	if token, ok := strings.CutPrefix(request.Header.Get("Authorization"), "Bearer "); ok {
		g, known := r.tokens.find(token)
		return g.user, known && covers(g.scopes, parse(request))
	}
	name, password, ok := request.BasicAuth()
	if !ok || r.options.Token && request.URL.Path != tokenPath {
		return User{}, false
	}
	if r.options.Admits != nil && r.options.Admits(name, password) {
		return User{Name: name}, true
	}
	return r.user(func(u User) bool { return u.Name == name && u.Password == password })
}

func (r *Registry) user(is func(User) bool) (User, bool) {
	if i := slices.IndexFunc(r.options.Users, is); i >= 0 {
		return r.options.Users[i], true
	}
	return User{}, false
}

// covers reports whether one of the scopes, "repository:<name>:<actions>", is enough for the request.
func covers(scopes []string, what Request) bool {
	action := "pull"
	if what.Method != http.MethodGet && what.Method != http.MethodHead {
		action = "push"
	}
	return what.Repository == "" || slices.ContainsFunc(scopes, func(scope string) bool {
		parts := strings.Split(scope, ":")
		return len(parts) == 3 && parts[1] == what.Repository && slices.Contains(strings.Split(parts[2], ","), action)
	})
}

func (r *Registry) allowed(what Request, user User, known bool) bool {
	reads := what.Method == http.MethodGet || what.Method == http.MethodHead
	switch {
	case len(r.options.Users) == 0 && r.options.Admits == nil, reads && slices.Contains(r.options.Public, what.Repository):
		return true
	case !known:
		return false
	}
	return len(user.Repositories) == 0 || what.Repository == "" || slices.Contains(user.Repositories, what.Repository)
}

func (r *Registry) challenge(w http.ResponseWriter, what Request) {
	demand := `Basic realm="test"`
	if r.options.Token {
		action := "pull"
		if what.Method != http.MethodGet && what.Method != http.MethodHead {
			action = "pull,push"
		}
		demand = fmt.Sprintf(`Bearer realm="%s%s",service="test",scope="repository:%s:%s"`, r.URL(), tokenPath, what.Repository, action)
	}
	w.Header().Set("WWW-Authenticate", demand)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte(`{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`))
}

// giveToken is the token server: basic authentication by GET, a refresh token by POST, and nobody for what is public.
func (r *Registry) giveToken(w http.ResponseWriter, request *http.Request) {
	_ = request.ParseForm()
	user, known := r.identify(request)
	if refresh := request.PostForm.Get("refresh_token"); refresh != "" {
		user, known = r.user(func(u User) bool { return u.IdentityToken == refresh })
	}
	_, _, tried := request.BasicAuth()
	if !known && (tried || request.Method == http.MethodPost) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	scopes := strings.Fields(strings.Join(request.Form["scope"], " "))
	if !known {
		scopes = slices.DeleteFunc(scopes, func(scope string) bool {
			return !slices.Contains(r.options.Public, strings.Split(scope+":", ":")[1])
		})
	}
	given := r.tokens.give(grant{user, scopes})
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"token": given, "access_token": given, "expires_in": 300})
}
