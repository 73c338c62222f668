// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"cmp"
	"net/http"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/oci/keychain"
)

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
	Logins keychain.Credentials
	// CA holds further certificate authorities, PEM-encoded, beside those of the system.
	CA []byte
	// Timeout limits one call with all its requests and retries, except that of streamed content and uploads.
	Timeout time.Duration
	// TransferTimeout limits the download or upload of one blob.
	TransferTimeout time.Duration
	// MaxManifest and MaxBlob limit the bytes of a manifest and of a blob that is returned in memory; neither exceeds what it
	// says, whatever a caller asks for.
	MaxManifest, MaxBlob int64
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
	o.MaxManifest = cmp.Or(max(o.MaxManifest, 0), DefaultMaxManifest)
	o.MaxBlob = cmp.Or(max(o.MaxBlob, 0), DefaultMaxBlob)
	o.MaxContent = cmp.Or(max(o.MaxContent, 0), DefaultMaxContent)
	o.CacheBytes = cmp.Or(max(o.CacheBytes, 0), DefaultCacheBytes)
	o.LoginHint = cmp.Or(o.LoginHint, DefaultLoginHint)
	return o
}
