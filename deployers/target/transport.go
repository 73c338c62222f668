// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net"
	"net/http"
	"net/url"
	"syscall"
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
)

// reach says where connections may lead; it is a net.Dialer.Control.
type reach func(network, address string, _ syscall.RawConn) error

// tenantReach is the reach of connections whose address a tenant chose.
func (c *Clients) tenantReach() reach {
	return address.Control(c.options.PublicOnly)
}

// anyAddress is the reach of connections to the landscaper cluster, whose address the operator chose.
func anyAddress(string, string, syscall.RawConn) error { return nil }

// harden makes every client of a configuration use one guarded connection pool, also clients that libraries make from a copy of the
// configuration. It changes config. Requests pass the token source, if there is one, then the guard.
func harden(config *rest.Config, allowed reach, limits limits, source *tokens) error {
	pool, err := newPool(config, allowed)
	if err != nil {
		return err
	}
	var sender http.RoundTripper = &guard{
		next: pool, limits: limits, site: siteOf(config.Host), prefix: pathOf(config.Host), actingAs: config.Impersonate.UserName,
	}
	if source != nil {
		sender = &tokenTransport{tokens: source, base: sender}
	}
	config.WrapTransport = func(http.RoundTripper) http.RoundTripper { return sender }
	return nil
}

// newPool returns the connection pool of a configuration. Every address is judged when it is dialled, after names were resolved; the
// address of a proxy as well.
func newPool(config *rest.Config, allowed reach) (*http.Transport, error) {
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{
		Timeout: dialTimeout, KeepAlive: 30 * time.Second,
		Control: allowed,
	}
	return utilnet.SetTransportDefaults(&http.Transport{
		Proxy: config.Proxy, DialContext: dialer.DialContext, TLSClientConfig: trust, DisableCompression: config.DisableCompression,
		TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: idlePerCluster,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}), nil
}

// siteOf returns host and port of the URL of a server.
func siteOf(host string) string {
	parsed, err := url.Parse(host)
	if err != nil {
		return host
	}
	return parsed.Host
}

func pathOf(host string) string {
	parsed, err := url.Parse(host)
	if err != nil {
		return ""
	}
	return parsed.Path
}
