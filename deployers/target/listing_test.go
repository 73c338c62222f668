// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/listing"
)

// crowd is an API server with so many groups, each of one version with one kind.
type crowd struct {
	groups int
	// aggregated is its answer about all kinds, nil where it is too old to have one.
	aggregated func(w http.ResponseWriter)

	asked atomic.Int64
	// release lets the questions about versions be answered.
	release chan struct{}
}

func (c *crowd) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(content any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(content)
	}
	switch {
	case r.URL.Path == "/api":
		answer(metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}})
	case r.URL.Path == "/apis" && c.aggregated != nil && strings.Contains(r.Header.Get("Accept"), "APIGroupDiscoveryList"):
		c.aggregated(w)
	case r.URL.Path == "/apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for i := range c.groups {
			version := metav1.GroupVersionForDiscovery{GroupVersion: fmt.Sprintf("g%d.example.com/v1", i), Version: "v1"}
			list.Groups = append(list.Groups, metav1.APIGroup{
				Name: fmt.Sprintf("g%d.example.com", i), Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
			})
		}
		answer(list)
	default:
		c.asked.Add(1)
		<-c.release
		answer(metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: strings.TrimPrefix(r.URL.Path, "/apis/"),
			APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}},
		})
	}
}

func TestAllKindsAreAskedForByVersionWhereTheyAreTooManyForOneAnswer(t *testing.T) {
	t.Parallel()
	large := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		_, _ = fmt.Fprintf(w, `{"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [], "more": %q}`, strings.Repeat("x", 3<<20))
	}
	for name, aggregated := range map[string]func(http.ResponseWriter){"one answer is too large": large, "an old API server": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &crowd{groups: 100, aggregated: aggregated, release: make(chan struct{})}
			client, err := hostile(t, server.ServeHTTP).DiscoveryFor(t.Context())
			require.NoError(t, err)
			go func() {
				defer close(server.release)
				assert.Eventually(t, func() bool { return server.asked.Load() == listing.VersionsAtOnce }, time.Minute, time.Millisecond)
				assert.Never(t, func() bool { return server.asked.Load() > listing.VersionsAtOnce }, 200*time.Millisecond, 10*time.Millisecond)
			}()

			preferred, err := discovery.ServerPreferredResources(client)
			require.NoError(t, err)
			assert.Len(t, preferred, 100)
			_, all, err := client.ServerGroupsAndResources()
			require.NoError(t, err)
			assert.Len(t, all, 100)
		})
	}
}

func TestVersionsWithoutEndAreNotAskedFor(t *testing.T) {
	t.Parallel()
	server := &crowd{groups: listing.MostVersions + 1, release: make(chan struct{})}
	close(server.release)
	client, err := hostile(t, server.ServeHTTP).DiscoveryFor(t.Context())
	require.NoError(t, err)
	_, _, err = client.ServerGroupsAndResources()
	require.ErrorIs(t, err, guard.ErrLarge)
	require.ErrorContains(t, err, "2001 versions")
	assert.Zero(t, server.asked.Load())
}
