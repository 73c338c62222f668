// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/store"
	"github.com/flux-landscaper/flux-landscaper/sources/oci/tokens"
	"github.com/flux-landscaper/flux-landscaper/sources/scratch"
)

// Client talks to registries. It is safe for concurrent use.
type Client struct {
	options   Options
	mirrors   map[string]mirror
	transport *transports
	flights   flights
	contents  *store.Store
	grants    *store.Ledger
	tokens    *tokens.Cache
	now       func() time.Time
	// temporary is the directory to remove at the end, if any.
	temporary *scratch.Directory
}

// rememberedGrants is how many resolved references and owned digests are remembered.
const rememberedGrants = 16384

// New makes a client. It fails if the directory, CA or a mirror cannot be used.
func New(o Options) (*Client, error) {
	o = o.withDefaults()
	c := &Client{options: o, mirrors: map[string]mirror{}, tokens: tokens.New(), now: time.Now}
	for host, endpoint := range o.Mirrors {
		m, err := parseMirror(host, endpoint)
		if err != nil {
			return nil, err
		}
		c.mirrors[canonicalHost(host)] = m
	}
	var err error
	if c.transport, err = newTransports(o); err != nil {
		return nil, err
	}
	if err := c.openCache(); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) openCache() (err error) {
	dir := c.options.Dir
	if dir == "" {
		if c.temporary, err = scratch.Make("landscaper-oci-"); err != nil {
			return fmt.Errorf("registry client: make a temporary directory: %w; set Options.Dir", err)
		}
		dir = c.temporary.Path
	}
	if c.contents, err = store.Open(filepath.Clean(dir), c.options.CacheBytes); err != nil {
		return fmt.Errorf("registry client: %w", err)
	}
	if c.grants, err = store.OpenLedger(filepath.Join(dir, "grants"), rememberedGrants); err != nil {
		return fmt.Errorf("registry client: %w", err)
	}
	return nil
}

// Close ends idle connections and removes the temporary directory. Content that is open stays readable where the system
// keeps open files.
func (c *Client) Close() error {
	c.transport.close()
	if c.temporary == nil {
		return nil
	}
	if err := c.temporary.Remove(); err != nil {
		return fmt.Errorf("registry client: remove its temporary directory: %w", err)
	}
	return nil
}

// repository is the registry client for one target.
func (c *Client) repository(t target) *remote.Repository {
	return &remote.Repository{
		Reference:        t.at,
		PlainHTTP:        t.plain,
		MaxMetadataBytes: c.options.MaxManifest,
		TagListMaxPages:  maxTagPages,
		TagListPageSize:  tagPageSize,
		SkipReferrersGC:  true,
		Client: resending{&auth.Client{
			Client:     c.transport.client(t.login.ca),
			Cache:      c.tokens.Of(t.login.session(c.now())),
			ClientID:   "flux-landscaper",
			Header:     http.Header{"User-Agent": {"flux-landscaper"}},
			Credential: t.login.credential(t.at.Host()),
		}},
	}
}
