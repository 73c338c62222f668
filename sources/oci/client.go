// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"net/http"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/internal/transport"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/tokens"
)

// Client talks to registries. It is safe for concurrent use.
type Client struct {
	registries *registries
	cache      *cache
}

// New makes a client. It fails if the directory, CA or a mirror cannot be used.
func New(o Options) (*Client, error) {
	o = o.withDefaults()
	r := &registries{options: o, mirrors: map[string]mirror{}, tokens: tokens.New(), now: time.Now}
	for host, endpoint := range o.Mirrors {
		m, err := parseMirror(host, endpoint)
		if err != nil {
			return nil, err
		}
		r.mirrors[keychain.CanonicalHost(host)] = m
	}
	var err error
	if r.transport, err = transport.New(transport.Options{Transport: o.Transport, PublicOnly: o.PublicOnly, CA: o.CA, Timeout: o.Timeout}); err != nil {
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
	c.registries.transport.Close()
	return c.cache.end()
}

// registries know the way to each registry, and ask it. They keep nothing but connections and tokens.
type registries struct {
	options   Options
	mirrors   map[string]mirror
	transport *transport.Clients
	tokens    *tokens.Cache
	now       func() time.Time
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
			Client:     r.transport.For(t.login.Authorities()),
			Cache:      r.tokens.Of(t.login.Session(r.now())),
			ClientID:   "flux-landscaper",
			Header:     http.Header{"User-Agent": {"flux-landscaper"}},
			Credential: t.login.Credential(t.at.Host()),
		}},
	}
}
