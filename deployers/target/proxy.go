// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net/http"
	"net/url"

	"k8s.io/client-go/rest"
)

// fixedProxy always answers with the same proxy.
func fixedProxy(proxy *url.URL) func(*http.Request) (*url.URL, error) {
	return func(*http.Request) (*url.URL, error) { return proxy, nil }
}

func proxyOf(config *rest.Config) string {
	if config.Proxy == nil {
		return ""
	}
	proxy, err := config.Proxy(nil)
	if err != nil || proxy == nil {
		return ""
	}
	return proxy.String()
}
