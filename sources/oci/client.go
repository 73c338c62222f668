// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/utils/lru"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Defaults of Options.
const (
	DefaultTimeout     = time.Minute
	DefaultMaxManifest = 4 << 20
	DefaultMaxBlob     = 64 << 20
	DefaultMaxContent  = 2 << 30
	DefaultCacheBytes  = 32 << 20
)

// Options configure a Client. Numbers that are zero take their default.
type Options struct {
	// Dir is the directory of the cache, which belongs to this client alone; empty means a temporary one until Close.
	Dir string
	// PlainHTTP names hosts (with port, if any) to reach without TLS; loopback hosts always are, unless the reference says https://.
	PlainHTTP []string
	// Mirrors maps a host to the endpoint to ask in its place, such as "http://127.0.0.1:5000". The host itself is not
	// asked any more, and credentials are looked up for the endpoint.
	Mirrors map[string]string
	// CA holds further certificate authorities, PEM-encoded, beside those of the system.
	CA []byte
	// Timeout limits one call with all its requests.
	Timeout time.Duration
	// MaxManifest and MaxBlob limit the bytes of a manifest and of a blob.
	MaxManifest, MaxBlob int64
	// MaxContent limits the bytes of content that is streamed to disk.
	MaxContent int64
	// CacheBytes limits the disk space of manifests and blobs to serve again.
	CacheBytes int64
	// Transport carries the requests; nil means one of the client's own. CA applies to the client's own only.
	Transport http.RoundTripper
}

// Client talks to registries. It is safe for concurrent use.
type Client struct {
	options Options
	mirrors map[string]mirror
	http    *http.Client
	cache   *cache
	flights singleflight.Group
	// tokens holds an auth.Cache for each login: a token never serves another one.
	tokens *lru.Cache
}

// rememberedLogins is for how many logins tokens are kept.
const rememberedLogins = 1024

// New makes a client. It fails if CA or a mirror cannot be used.
func New(o Options) (*Client, error) {
	orDefault(&o.Timeout, DefaultTimeout)
	orDefault(&o.MaxManifest, DefaultMaxManifest)
	orDefault(&o.MaxBlob, DefaultMaxBlob)
	orDefault(&o.MaxContent, DefaultMaxContent)
	orDefault(&o.CacheBytes, DefaultCacheBytes)
	c := &Client{options: o, mirrors: map[string]mirror{}, cache: newCache(o.CacheBytes), tokens: lru.New(rememberedLogins)}
	for host, endpoint := range o.Mirrors {
		m, err := parseMirror(host, endpoint)
		if err != nil {
			return nil, err
		}
		c.mirrors[canonicalHost(host)] = m
	}
	transport, err := o.transport()
	if err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: &retry.Transport{Base: transport, Policy: func() retry.Policy { return shortPolicy }}}
	return c, nil
}

// Close removes the temporary directory. Content that is still open stays readable.
func (c *Client) Close() error { return nil }

func orDefault[T int64 | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// shortPolicy bridges a hiccup within a call; longer trouble is left to the back-off of the controller.
var shortPolicy = &retry.GenericPolicy{
	Retryable: retry.DefaultPredicate,
	Backoff:   retry.ExponentialBackoff(60*time.Millisecond, 2, 0.1),
	MaxWait:   time.Second,
	MaxRetry:  3,
}

func (o Options) transport() (http.RoundTripper, error) {
	if o.Transport != nil {
		return o.Transport, nil
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if len(o.CA) == 0 {
		return transport, nil
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, fmt.Errorf("registry client: read the certificate authorities of the system: %w", err)
	}
	if !pool.AppendCertsFromPEM(o.CA) {
		return nil, errors.New("registry client: Options.CA holds no certificate; give PEM blocks of type CERTIFICATE")
	}
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return transport, nil
}

// repository is the registry client for one target.
func (c *Client) repository(t target) *remote.Repository {
	return &remote.Repository{
		Reference:        t.at,
		PlainHTTP:        t.plain,
		MaxMetadataBytes: c.options.MaxManifest,
		TagListMaxPages:  maxTagPages,
		Client: &auth.Client{
			Client:     c.http,
			Cache:      c.tokenCache(t.login),
			ClientID:   "flux-landscaper",
			Header:     http.Header{"User-Agent": {"flux-landscaper"}},
			Credential: auth.StaticCredential(t.at.Host(), t.login),
		},
	}
}

func (c *Client) tokenCache(login auth.Credential) auth.Cache {
	key := fingerprint(login)
	if found, ok := c.tokens.Get(key); ok {
		return found.(auth.Cache)
	}
	made := auth.NewCache()
	c.tokens.Add(key, made)
	return made
}
