// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// withoutLogin are the headers of a request that may go along to another server. All others may be, or tell of, credentials.
var withoutLogin = []string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "User-Agent"}

// follow judges a request that a redirect led to, and returns what to send, without credentials where it goes to another server than the first one.
func (p *Policy) follow(request *http.Request) (sent *http.Request, isForeign bool, err error) {
	isSecure, hops := request.URL.Scheme == "https", 0
	for at := request; at.Response != nil && at.Response.Request != nil; at = at.Response.Request {
		from := at.Response.Request.URL
		isForeign = isForeign || Server(from) != Server(at.URL)
		if hops++; hops > p.Redirects {
			return nil, false, ErrRedirects
		}
		if from.Scheme == "https" && !isSecure {
			return nil, false, ErrDowngrade
		}
	}
	if !isForeign {
		return request, false, nil
	}
	sent = request.Clone(request.Context())
	for name := range sent.Header {
		if !slices.Contains(withoutLogin, name) {
			sent.Header.Del(name)
		}
	}
	return sent, true, nil
}

var ports = map[string]string{"http": "80", "https": "443"}

// Server returns host and port of a URL in one form.
func Server(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return net.JoinHostPort(host, cmp.Or(u.Port(), ports[u.Scheme]))
}
