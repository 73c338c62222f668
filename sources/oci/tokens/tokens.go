// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package tokens keeps what registries gave for logins, in a bounded memory. It promises nothing to others.
package tokens

import (
	"context"
	"sync/atomic"

	"k8s.io/utils/lru"
	"oras.land/oras-go/v2/registry/remote/auth"
)

const (
	// rememberedLogins is for how many logins tokens are kept.
	rememberedLogins = 1024
	// rememberedTokens is how many bytes of tokens are kept. A registry gives one of any kind for each repository, also to those without login, whom
	// all tenants have in common.
	rememberedTokens = 32 << 20
)

// Cache holds an auth.Cache for each login: a token never serves another one. It is safe for concurrent use.
type Cache struct {
	logins *lru.Cache
	bytes  atomic.Int64
}

// New returns an empty Cache.
func New() *Cache { return &Cache{logins: lru.New(rememberedLogins)} }

// Of returns the tokens of a login.
func (t *Cache) Of(login string) auth.Cache {
	if found, ok := t.logins.Get(login); ok {
		return found.(auth.Cache)
	}
	made := counted{auth.NewCache(), t}
	t.logins.Add(login, made)
	return made
}

// counted is an auth.Cache that counts. The library lets nothing go, so all begin anew when there is too much.
type counted struct {
	auth.Cache
	all *Cache
}

// Set implements auth.Cache.
func (c counted) Set(ctx context.Context, registry string, scheme auth.Scheme, key string, fetch func(context.Context) (string, error)) (string, error) {
	token, err := c.Cache.Set(ctx, registry, scheme, key, fetch)
	if size := int64(len(registry) + len(key) + len(token)); err == nil && c.all.bytes.Add(size) > rememberedTokens {
		c.all.bytes.Store(0)
		c.all.logins.Clear()
	}
	return token, err
}
