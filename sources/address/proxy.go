// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"net/http"
	"net/netip"
	"net/url"
)

// Proxy returns what finds the proxy of a request as find does, but none for a server that is named by an address which Control refuses: a transport connects
// to that itself, and is refused. What names lead to behind a proxy is for the proxy to decide.
func Proxy(publicOnly bool, find func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	control := Control(publicOnly)
	return func(request *http.Request) (*url.URL, error) {
		at, err := netip.ParseAddr(request.URL.Hostname())
		if err == nil && control("", netip.AddrPortFrom(at, 0).String(), nil) != nil {
			return nil, nil
		}
		return find(request)
	}
}
