// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/address"
)

// guardedTransport connects to no metadata services of clouds, and to public addresses alone where publicOnly says so.
func guardedTransport(publicOnly bool) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: address.Control(publicOnly)}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = nil
	transport.DialContext = dialer.DialContext
	transport.ResponseHeaderTimeout = 30 * time.Second
	return transport
}

// checkRedirect follows a few redirects and none from https to http.
func checkRedirect(to *http.Request, via []*http.Request) error {
	const most = 5
	if len(via) >= most {
		return fmt.Errorf("more than %d redirects", most)
	}
	if via[0].URL.Scheme == "https" && to.URL.Scheme != "https" {
		return errors.New("a redirect leads from https to " + to.URL.Scheme)
	}
	return nil
}
