// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// delayed forwards to a registry after a while.
func delayed(b *testing.B, reg *registry.Registry, latency time.Duration) string {
	to, err := url.Parse(reg.URL())
	require.NoError(b, err)
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		forward.ServeHTTP(w, r)
	}))
	b.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// BenchmarkResolveCached looks a component version up that another Installation has used, and opens its blueprint.
func BenchmarkResolveCached(b *testing.B) {
	reg := registry.Start(b, registry.Options{})
	publish(b, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(b), db(b))
	r := repositories(b, nil)
	scope := Scope{Repository: raw(b, ociSpec(reg.Host+"/c"))}
	resolve := func() {
		s := r.Open(scope)
		defer s.Close()
		found, err := s.Root(b.Context(), byName(shopName, "1.0.0", nil))
		require.NoError(b, err)
		_, err = s.Closure(b.Context(), found.Descriptor)
		require.NoError(b, err)
		_, _, err = s.Blueprint(b.Context(), found.Descriptor, &found.Descriptor.Resources[0])
		require.NoError(b, err)
	}
	resolve()
	reg.Forget()
	for b.Loop() {
		resolve()
	}
	b.ReportMetric(float64(len(reg.Requests()))/float64(b.N), "requests/op")
}

// BenchmarkClosure300 resolves 300 component versions from a registry that takes 20 ms for every request: in 3 s at most.
func BenchmarkClosure300(b *testing.B) {
	reg := registry.Start(b, registry.Options{})
	const versions = 300
	references := map[string]string{}
	for i := range versions - 1 {
		v := component.Version{Descriptor: describe(b, fmt.Sprintf("example.com/part-%d", i), "1.0.0", "", nil)}
		publish(b, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, v)
		references[fmt.Sprintf("part-%d", i)] = v.Descriptor.Name + "@1.0.0"
	}
	publish(b, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, component.Version{Descriptor: describe(b, "example.com/all", "1.0.0", "", references)})
	slow := delayed(b, reg, 20*time.Millisecond)
	reg.Forget()
	for b.Loop() {
		s := session(b, repositories(b, nil), Scope{Repository: raw(b, ociSpec(slow+"/c"))})
		found, err := s.Root(b.Context(), byName("example.com/all", "1.0.0", nil))
		require.NoError(b, err)
		closed, err := s.Closure(b.Context(), found.Descriptor)
		require.NoError(b, err)
		require.Len(b, closed.Descriptors, versions)
	}
	b.ReportMetric(float64(len(reg.Requests()))/float64(b.N)/versions, "requests/version")
}
