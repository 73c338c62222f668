// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package address

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

const (
	// maxHeaderBytes bounds the header of an answer: real ones have a few kilobytes.
	maxHeaderBytes = 256 << 10
	// idlePerHost is how many connections to a server wait for the next request.
	idlePerHost = 10
)

// Transport returns a transport like http.DefaultTransport, whose connections are those of Dialing. It takes the proxy of the environment, but not to a
// server that is named by an address which Control refuses: the transport connects to that itself, and is refused. What names lead to behind a proxy is for the
// proxy to decide. An answer with a header of more than 256 KiB is an error.
// It speaks HTTP/1.1 only, because HTTP/2 reads and answers what a server sends whether or not somebody waits for an answer.
func Transport(publicOnly bool, timeout time.Duration) *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = Dialing(publicOnly, timeout)
	transport.Proxy = proxy(publicOnly, http.ProxyFromEnvironment)
	transport.MaxResponseHeaderBytes, transport.MaxIdleConnsPerHost = maxHeaderBytes, idlePerHost
	transport.Protocols = new(http.Protocols)
	transport.Protocols.SetHTTP1(true)
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}} // the default one offers HTTP/2
	return transport
}

func proxy(publicOnly bool, find func(*http.Request) (*url.URL, error)) func(*http.Request) (*url.URL, error) {
	control := Control(publicOnly)
	return func(request *http.Request) (*url.URL, error) {
		at, err := netip.ParseAddr(request.URL.Hostname())
		if err == nil && control("", netip.AddrPortFrom(at, 0).String(), nil) != nil {
			return nil, nil
		}
		return find(request)
	}
}
