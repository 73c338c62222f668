// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Defaults of Options.
const (
	DefaultMaxDownload  = 64 << 20
	DefaultMaxExtracted = 128 << 20
	DefaultMaxFile      = 32 << 20
	DefaultMaxEntries   = 20_000
	DefaultCacheBytes   = 1 << 30
	DefaultRetries      = 4
	DefaultRetryDelay   = 60 * time.Millisecond
	DefaultTimeout      = time.Minute
)

// Options configure a Store. Every limit that is zero takes its default; there is no "unlimited".
type Options struct {
	// Dir is the cache directory; it is made with mode 0700 and belongs to this store alone. Required.
	Dir string
	// MaxDownload limits the bytes of a download.
	MaxDownload int64
	// MaxExtracted limits the bytes of all files of one archive together.
	MaxExtracted int64
	// MaxFile limits the bytes of one file of an archive.
	MaxFile int64
	// MaxEntries limits the number of entries of an archive.
	MaxEntries int
	// CacheBytes is the disk space, in bytes, that entries nobody uses may take; the least recently used go first.
	CacheBytes int64
	// Retries is how often a failed download is tried again within one call; negative means never.
	Retries int
	// RetryDelay is the first delay between tries; it doubles each time.
	RetryDelay time.Duration
	// Timeout limits one download with all its tries, and its extraction.
	Timeout time.Duration
	// HostOverwrite, if set, replaces host and port of every URL (SOURCE_CONTROLLER_LOCALHOST of the Flux controllers,
	// for a process outside the cluster).
	HostOverwrite string
	// PublicOnly refuses servers at addresses that are not public, except those of Storage and HostOverwrite.
	PublicOnly bool
	// Storage lists the servers of the operator from which artifacts come, as host or host:port; without a port it is that of the scheme.
	Storage []string
	// Transport carries the requests; nil means one of the store's own, which refuses the metadata services of
	// clouds, and what PublicOnly says.
	Transport http.RoundTripper
}

func (o Options) withDefaults() (Options, error) {
	if o.Dir == "" {
		return o, errors.New("artifact store: Options.Dir is empty; name a directory that only this process uses")
	}
	if o.MaxDownload < 0 || o.MaxExtracted < 0 || o.MaxFile < 0 || o.MaxEntries < 0 || o.CacheBytes < 0 {
		return o, fmt.Errorf("artifact store %s: a limit is negative; use a positive number, or zero for the default", o.Dir)
	}
	o.MaxDownload = cmp.Or(o.MaxDownload, DefaultMaxDownload)
	o.MaxExtracted = cmp.Or(o.MaxExtracted, DefaultMaxExtracted)
	o.MaxFile = cmp.Or(o.MaxFile, DefaultMaxFile)
	o.MaxEntries = cmp.Or(o.MaxEntries, DefaultMaxEntries)
	o.CacheBytes = cmp.Or(o.CacheBytes, DefaultCacheBytes)
	o.Retries = cmp.Or(o.Retries, DefaultRetries)
	o.RetryDelay = cmp.Or(o.RetryDelay, DefaultRetryDelay)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	if o.Transport == nil {
		o.Transport = newGuard(o)
	}
	return o, nil
}
