// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"net/http"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

// Client talks to registries. It is safe for concurrent use.
type Client struct {
	registries *registries
	cache      *cache
}

// New makes a client. It fails if the directory, CA or a mirror cannot be used.
func New(o Options) (*Client, error) {
	o = o.withDefaults()
	r := &registries{options: o, mirrors: map[string]mirror{}, now: time.Now}
	for host, endpoint := range o.Mirrors {
		m, err := parseMirror(host, endpoint)
		if err != nil {
			return nil, err
		}
		r.mirrors[keychain.CanonicalHost(host)] = m
	}
	var err error
	if r.tokens, err = lru.New[string, auth.Cache](rememberedTokens); err != nil {
		return nil, err
	}
	if r.clients, err = newClients(o); err != nil {
		return nil, err
	}
	c := &Client{registries: r, cache: &cache{registries: r}}
	if err := c.cache.start(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends idle connections and removes the temporary directory. Content that is open stays readable where the system
// keeps open files.
func (c *Client) Close() error {
	c.registries.clients.close()
	return c.cache.end()
}

// registries know the way to each registry, and ask it. They keep nothing but connections and tokens.
type registries struct {
	options Options
	mirrors map[string]mirror
	clients *clients
	// tokens are what registries gave to a login for a repository.
	tokens *lru.Cache[string, auth.Cache]
	now    func() time.Time
}

// rememberedTokens is for how many logins at repositories tokens are kept.
const rememberedTokens = 4096

// tokensOf returns the tokens of the login of a target: a token never serves another one.
func (r *registries) tokensOf(t target) auth.Cache {
	key := t.login.Session(r.now()) + " " + t.home()
	made := auth.NewCache()
	if found, had, _ := r.tokens.PeekOrAdd(key, made); had {
		r.tokens.Get(key)
		return found
	}
	return made
}

// repository is the registry client for one target.
func (r *registries) repository(t target) *remote.Repository {
	return &remote.Repository{
		Reference:        t.at,
		PlainHTTP:        t.plain,
		MaxMetadataBytes: r.options.MaxManifest,
		TagListMaxPages:  maxTagPages,
		TagListPageSize:  tagPageSize,
		SkipReferrersGC:  true,
		Client: resending{&auth.Client{
			Client:     r.clients.trusting(t.login.Authorities()),
			Cache:      r.tokensOf(t),
			ClientID:   "flux-landscaper",
			Header:     http.Header{"User-Agent": {"flux-landscaper"}},
			Credential: t.login.Credential(t.at.Host()),
		}},
	}
}
