// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/sources/address"
)

const (
	dialTimeout    = 10 * time.Second
	idleTimeout    = 90 * time.Second
	idlePerCluster = 25
	maxHeaderBytes = 256 << 10
	// watchWindow and answerWindow are how many bytes of a watch, and of another answer, a server may send that nobody has read.
	watchWindow, answerWindow = 64 << 10, 256 << 10
)

// Anywhere opens connections to the landscaper cluster, whose address the operator chose.
func Anywhere() address.Dial {
	return (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
}

// ToTenants opens connections to addresses that tenants chose, to public ones alone where publicOnly says so.
func ToTenants(publicOnly bool) address.Dial { return address.Dialing(publicOnly, dialTimeout) }

// New returns what sends requests over connections of its own.
func New(config *rest.Config, dial address.Dial, limits Limits) (http.RoundTripper, error) {
	unread := &unread{}
	dial = unread.dialing(dial)
	pool, err := newPool(config, dial, answerWindow)
	if err != nil {
		return nil, err
	}
	watches, err := newPool(config, dial, watchWindow)
	if err != nil {
		return nil, err
	}
	return roleWait{&guard{
		next: pool, watches: watches, unread: unread, limits: limits, site: siteOf(config.Host), prefix: pathOf(config.Host), actingAs: config.Impersonate.UserName,
	}}, nil
}

// newPool returns the connection pool of a configuration. Every address is judged when it is dialled, after names were resolved; the
// address of a proxy as well.
func newPool(config *rest.Config, dial address.Dial, window int) (*http.Transport, error) {
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	pool := &http.Transport{
		Proxy: config.Proxy, DialContext: dial, TLSClientConfig: trust, DisableCompression: config.DisableCompression,
		TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: idlePerCluster,
		MaxResponseHeaderBytes: maxHeaderBytes, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: window},
	}
	return utilnet.SetTransportDefaults(pool), nil
}

// siteOf returns host and port of the URL of a server.
func siteOf(host string) string {
	parsed, err := url.Parse(host)
	if err != nil {
		return host
	}
	return parsed.Host
}

// pathOf returns the path of the URL of a server, as clients put it before that of a request.
func pathOf(host string) string {
	parsed, err := url.Parse(host)
	if err != nil {
		return ""
	}
	return path.Join("/", parsed.Path)
}
