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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

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
	// version answers them, nil with one kind each.
	version func(w http.ResponseWriter, r *http.Request)
}

// answering returns a crowd that answers questions about versions at once.
func answering(groups int, version func(w http.ResponseWriter, r *http.Request)) *crowd {
	c := &crowd{groups: groups, release: make(chan struct{}), version: version}
	close(c.release)
	return c
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
		if c.version != nil {
			c.version(w, r)
			return
		}
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

// listed returns the kinds of a server, version by version, as a namespace that keeps to its pace.
func listed(t *testing.T, server *crowd) ([]*metav1.APIResourceList, error) {
	t.Helper()
	cluster := boundTo("n", hostile(t, server.ServeHTTP), guard.NewPace(guard.KindsRate, guard.KindsBurst))
	client, err := cluster.DiscoveryFor(t.Context())
	require.NoError(t, err)
	_, all, err := client.ServerGroupsAndResources()
	return all, err
}

func TestVersionsWithoutEndAreNotAskedFor(t *testing.T) {
	t.Parallel()
	server := answering(listing.MostVersions+1, nil)
	_, err := listed(t, server)
	require.ErrorIs(t, err, guard.ErrLarge)
	require.ErrorContains(t, err, "2001 versions")
	assert.Zero(t, server.asked.Load())
}

func TestKindsOfAllVersionsHaveALimitTogether(t *testing.T) {
	t.Parallel()
	server := answering(listing.MostVersions, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind": "APIResourceList", "apiVersion": "v1", "resources": [{}%s]}`, strings.Repeat(",{}", listing.MostKinds/8))
	})
	_, err := listed(t, server)
	require.ErrorIs(t, err, guard.ErrLarge)
	require.ErrorContains(t, err, "50000 kinds")
	assert.Less(t, server.asked.Load(), int64(3*listing.VersionsAtOnce))
}

// Where nobody can tell what a version has, nothing of it counts as absent.
func TestAVersionThatCouldNotBeReadIsMissedByAll(t *testing.T) {
	t.Parallel()
	failing := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if !strings.HasPrefix(r.URL.Path, "/apis/g7.") {
				_, _ = fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "resources": [{"name": "things", "kind": "Thing"}]}`)
				return
			}
			w.WriteHeader(code)
			_, _ = fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "of the server", "code": %d}`, code)
		}
	}
	for _, code := range []int{http.StatusForbidden, http.StatusNotFound, http.StatusServiceUnavailable} {
		all, err := listed(t, answering(20, failing(code)))
		require.True(t, discovery.IsGroupDiscoveryFailedError(err), "%d: %v", code, err)
		assert.Len(t, all, 19)
	}
	for name, version := range map[string]func(http.ResponseWriter, *http.Request){
		"the server refuses for now": failing(http.StatusUnauthorized),
		"what no API server sends":   func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "text") },
		"kinds as protobuf": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf")
			_ = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(&metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "things", Kind: "Thing"}}}, w)
		},
	} {
		all, err := listed(t, answering(20, version))
		require.Error(t, err, name)
		require.False(t, discovery.IsGroupDiscoveryFailedError(err), "%s: %v", name, err)
		require.ErrorContains(t, err, "ask for the kinds of g", name)
		assert.Empty(t, all, name)
	}
}

func TestVersionsOfWhichNoneIsServedAreAskedForOnce(t *testing.T) {
	t.Parallel()
	server := answering(100, http.NotFound)
	_, err := listed(t, server)
	require.ErrorContains(t, err, "none of the 100 versions")
	assert.EqualValues(t, 100, server.asked.Load())
}

// The name would be a path with other limits.
func TestNamesOfVersionsThatNoAPIServerHasAreNotAskedFor(t *testing.T) {
	t.Parallel()
	client, err := hostile(t, func(_ http.ResponseWriter, r *http.Request) { assert.Fail(t, "asked for", r.URL.Path) }).DiscoveryFor(t.Context())
	require.NoError(t, err)
	for _, version := range []string{"g/v1/things", "g/..", "g/v1?watch=true", "a/b/c", "g/"} {
		_, err = client.ServerResourcesForGroupVersion(version)
		assert.True(t, apierrors.IsNotFound(err), "%s: %v", version, err)
	}
}
