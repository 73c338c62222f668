// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package oci pulls artifacts (charts, blueprints, component versions) from OCI registries.
//
// A tag is resolved at every pull with the caller's own credentials; only then may a cached copy be served, and only one
// of the same repository. So a thousand pulls of one artifact cause one download, and nobody receives what the registry
// would refuse. Content is verified against its digest and held to size limits. Credentials appear in no error and no log.
package oci

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
)

// Client talks to registries. It is safe for concurrent use. What registries have answered before is served from a directory, and they are asked for the
// rest. It gives nobody what the registry would refuse: content is kept for the repository that has handed it out, and whoever asks has resolved his
// reference there with his own login.
type Client struct {
	options  Options
	mirrors  map[string]mirror
	clients  *clients
	contents *fetch.Store
	// tokens are what registries gave to a login for a repository.
	tokens *lru.Cache[string, auth.Cache]
	now    func() time.Time
}

// New makes a client. It fails if the directory, CA or a mirror cannot be used.
func New(o Options) (*Client, error) {
	o = o.withDefaults()
	c := &Client{options: o, mirrors: map[string]mirror{}, now: time.Now}
	for host, endpoint := range o.Mirrors {
		m, err := parseMirror(host, endpoint)
		if err != nil {
			return nil, err
		}
		c.mirrors[CanonicalHost(host)] = m
	}
	var err error
	if c.tokens, err = lru.New[string, auth.Cache](rememberedTokens); err != nil {
		return nil, err
	}
	if c.clients, err = newClients(o); err != nil {
		return nil, err
	}
	for _, ofEarlierVersions := range []string{"blobs", "grants"} {
		if o.Dir != "" {
			_ = os.RemoveAll(filepath.Join(o.Dir, ofEarlierVersions)) // it would take disk space that is not counted
		}
	}
	c.contents, err = fetch.New(fetch.Options{
		Dir: o.Dir, CacheBytes: o.CacheBytes, MaxDownload: max(o.MaxContent, o.MaxBlob, DefaultMaxManifest), Timeout: o.TransferTimeout,
		Retries: transferTries, RetryDelay: retryDelay,
	})
	if err != nil {
		return nil, fmt.Errorf("registry client: %w", err)
	}
	return c, nil
}

// Close ends idle connections and removes the temporary directory. Content that is open stays readable where the system
// keeps open files.
func (c *Client) Close() error {
	c.clients.close()
	return c.contents.Close()
}

// rememberedTokens is for how many logins at repositories tokens are kept.
const rememberedTokens = 4096

// tokensOf returns the tokens of the login of a target: a token never serves another one.
func (c *Client) tokensOf(t target) auth.Cache {
	key := t.login.Session(c.now()) + " " + t.home()
	made := auth.NewCache()
	if found, had, _ := c.tokens.PeekOrAdd(key, made); had {
		c.tokens.Get(key)
		return found
	}
	return made
}

// repository is the registry client for one target.
func (c *Client) repository(t target) *remote.Repository {
	return &remote.Repository{
		Reference:        t.at,
		PlainHTTP:        t.plain,
		MaxMetadataBytes: DefaultMaxManifest,
		TagListMaxPages:  maxTagPages,
		TagListPageSize:  tagPageSize,
		SkipReferrersGC:  true,
		Client: resending{&auth.Client{
			Client:     c.clients.trusting(t.login.Authorities()),
			Cache:      c.tokensOf(t),
			ClientID:   "flux-landscaper",
			Header:     http.Header{"User-Agent": {"flux-landscaper"}},
			Credential: t.login.Credential(t.at.Host()),
		}},
	}
}

// Defaults of Options.
const (
	DefaultTimeout         = time.Minute
	DefaultTransferTimeout = 5 * time.Minute
	DefaultMaxManifest     = 4 << 20
	DefaultMaxBlob         = 64 << 20
	DefaultMaxContent      = 2 << 30
	DefaultCacheBytes      = 2 << 30
	DefaultLoginHint       = "registryPullSecrets of the Context"
)

// Options configure a Client. Numbers that are zero take their default.
type Options struct {
	// Dir is the directory of the cache; it is made with mode 0700 and belongs to this client alone. What an earlier
	// process left there is used again. Empty means a temporary directory that Close removes.
	Dir string
	// PlainHTTP names hosts (with port, if any) to reach without TLS; loopback hosts always are, unless the reference says
	// https:// or the credentials hold a certificate authority for them. A reference that says http:// for another host gets only logins
	// that say so themselves.
	PlainHTTP []string
	// Mirrors maps a host to the endpoint to ask in its place, such as "http://127.0.0.1:5000". The host itself is not
	// asked any more, and credentials are looked up for the endpoint.
	Mirrors map[string]string
	// Logins are for whoever brings none that fits.
	Logins Credentials
	// CA holds further certificate authorities, PEM-encoded, beside those of the system.
	CA []byte
	// Timeout limits one call with all its requests and retries, except that of streamed content and uploads.
	Timeout time.Duration
	// TransferTimeout limits the download or upload of one blob.
	TransferTimeout time.Duration
	// MaxBlob limits the bytes of a blob that is returned in memory, whatever a caller asks for.
	MaxBlob int64
	// MaxContent limits the bytes of content that is streamed to disk.
	MaxContent int64
	// CacheBytes limits the disk space of manifests and blobs that nobody reads.
	CacheBytes int64
	// LoginHint is where messages tell people to put a missing login; empty means registryPullSecrets of the Context.
	LoginHint string
	// PublicOnly refuses registries, and what they redirect to, at addresses that are not public. Metadata services of clouds are refused always.
	PublicOnly bool
	// Transport carries the requests; nil means connections of the client's own, to which certificate authorities and PublicOnly apply alone.
	Transport http.RoundTripper
}

func (o Options) withDefaults() Options {
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.TransferTimeout = cmp.Or(max(o.TransferTimeout, 0), DefaultTransferTimeout)
	o.MaxBlob = cmp.Or(max(o.MaxBlob, 0), DefaultMaxBlob)
	o.MaxContent = cmp.Or(max(o.MaxContent, 0), DefaultMaxContent)
	o.CacheBytes = cmp.Or(max(o.CacheBytes, 0), DefaultCacheBytes)
	o.LoginHint = cmp.Or(o.LoginHint, DefaultLoginHint)
	return o
}

// target is where a reference leads after mirrors, with the login that fits there.
type target struct {
	// written is the reference as the caller gave it, for messages.
	written string
	// at is the registry, repository and tag or digest to ask.
	at registry.Reference
	// plain means HTTP without TLS.
	plain bool
	// exposed means that only the reference asks for that.
	exposed bool
	login   Login
	// hint is where a missing login belongs.
	hint string
}

// home identifies the repository for caching: content is only shared within it.
func (t target) home() string {
	return fmt.Sprintf("%t %s/%s", t.plain, t.at.Registry, t.at.Repository)
}

// mirror is the parsed value of Options.Mirrors.
type mirror struct {
	host, prefix string
	plain        bool
}

func parseMirror(host, endpoint string) (mirror, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https" {
		return mirror{}, fmt.Errorf("registry mirror of %q: write it as http://host:port or https://host, with a path if its repositories lie below one", host)
	}
	return mirror{host: u.Host, prefix: strings.Trim(u.Path, "/"), plain: u.Scheme == "http"}, nil
}

// locate parses ref, applies mirrors and finds the login. With needVersion the reference must have a tag or digest.
func (c *Client) locate(ref string, credentials Credentials, needVersion bool) (target, error) {
	scheme, rest := splitScheme(ref)
	at, err := registry.ParseReference(rest)
	if err != nil {
		return target{}, invalid(ref, "it is not an OCI reference", "write it as host/repository:tag or host/repository@sha256:digest")
	}
	if needVersion && at.Reference == "" {
		return target{}, invalid(ref, "it has neither tag nor digest", "append :tag or @sha256:digest")
	}
	t := target{written: ref, at: at, plain: scheme == "http" || scheme == "" && c.plainByDefault(at.Registry), hint: c.options.LoginHint}
	if m, ok := c.mirrors[CanonicalHost(at.Registry)]; ok {
		t.at.Registry, t.plain, scheme = m.host, m.plain, "mirror"
		t.at.Repository = strings.TrimPrefix(m.prefix+"/"+at.Repository, "/")
	}
	if t.exposed = scheme == "http" && !c.plainByDefault(at.Registry); t.exposed {
		credentials = credentials.NamingPlain()
	}
	undecided := t.plain && scheme == ""
	t.login = credentials.Find(t.place(undecided))
	if undecided && len(t.login.Authorities()) > 0 {
		t.plain = false // who trusts an authority for a loopback host expects TLS there
		t.login = credentials.Find(t.place(false))
	}
	if t.login.Anonymous() {
		t.login = c.common(t, undecided && t.plain)
	}
	return t, nil
}

// common returns the login of Options.Logins for a target whose caller has none.
func (c *Client) common(t target, anyScheme bool) Login {
	logins := c.options.Logins
	if t.exposed {
		logins = logins.NamingPlain()
	}
	found := logins.Find(t.place(anyScheme))
	if len(t.login.Authorities()) > 0 {
		found = found.Trusting(t.login.Authorities())
	}
	return found
}

// place is where the login is needed.
func (t target) place(anyScheme bool) Place {
	scheme := "https"
	if t.plain {
		scheme = "http"
	}
	if anyScheme {
		scheme = ""
	}
	return Place{Scheme: scheme, Host: t.at.Registry, Repository: t.at.Repository}
}

// splitScheme takes the schemes off that people write before a reference; "oci" says nothing about TLS.
func splitScheme(ref string) (scheme, rest string) {
	for _, s := range []string{"oci", "http", "https"} {
		if rest, ok := strings.CutPrefix(ref, s+"://"); ok {
			return strings.TrimPrefix(s, "oci"), rest
		}
	}
	return "", ref
}

// plainByDefault is true for loopback hosts and those named in Options.PlainHTTP.
func (c *Client) plainByDefault(host string) bool {
	if slices.Contains(c.options.PlainHTTP, host) {
		return true
	}
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "localhost" || err == nil && ip.IsLoopback()
}

// Reference is an OCI reference taken apart.
type Reference struct {
	// Scheme is http or https where the reference says so, and empty otherwise.
	Scheme string
	// Host of the registry, with its port if any, and Path of the repository there.
	Host, Path string
	// Tag and Digest; either or both may be empty.
	Tag    string
	Digest digest.Digest
}

// ParseReference takes "host/path", with or without :tag, @digest and a scheme, apart. The error is a *fault.Error.
func ParseReference(ref string) (Reference, error) {
	scheme, rest := splitScheme(ref)
	at, err := registry.ParseReference(rest)
	if err != nil {
		return Reference{}, invalid(ref, "it is not an OCI reference", "write it as host/repository:tag or host/repository@sha256:digest")
	}
	out := Reference{Scheme: scheme, Host: at.Registry, Path: at.Repository, Tag: at.Reference}
	if d, err := at.Digest(); err == nil {
		name, _, _ := strings.Cut(rest, "@")
		_, out.Tag, _ = strings.Cut(strings.TrimPrefix(name, at.Registry+"/"+at.Repository), ":")
		out.Digest = d
	}
	if at.Reference = out.Tag; out.Tag != "" && at.ValidateReferenceAsTag() != nil {
		return Reference{}, invalid(ref, "its tag is none", "use letters, digits, dots, dashes and underscores, at most 128")
	}
	return out, nil
}

// Repository is the reference without tag and digest.
func (r Reference) Repository() string {
	if r.Scheme != "" {
		return r.Scheme + "://" + r.Host + "/" + r.Path
	}
	return r.Host + "/" + r.Path
}
