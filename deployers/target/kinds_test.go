// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/restmapper"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// paths are those of the requests that a server has had.
type paths struct {
	mu  sync.Mutex
	all []string
}

func (p *paths) note(r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, r.URL.Path)
}

func (p *paths) taken() (all []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, p.all = p.all, nil
	return all
}

// serves answers with so many kinds for each version of a group whose path it has.
func serves(asked *paths, kinds map[string]int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		asked.note(r)
		count, isServed := kinds[r.URL.Path]
		if !isServed {
			http.NotFound(w, r)
			return
		}
		list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
		for i := range count {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: fmt.Sprint("things", i), Kind: fmt.Sprint("Thing", i), SingularName: fmt.Sprint("thing", i), Namespaced: true,
			})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}
}

func thing(group string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: "Thing0"} }

func TestOnlyTheVersionOfTheGroupIsAskedFor(t *testing.T) {
	t.Parallel()
	asked := &paths{}
	cluster := hostile(t, serves(asked, map[string]int{"/apis/a.example.com/v1": 3, "/apis/b.example.com/v1": 3}))
	for _, group := range []string{"a.example.com", "b.example.com"} {
		for range 2 {
			mapping, err := cluster.MapperFor(t.Context()).RESTMapping(thing(group), "v1")
			require.NoError(t, err)
			assert.Equal(t, schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things0"}, mapping.Resource)
			assert.Equal(t, meta.RESTScopeNameNamespace, mapping.Scope.Name())
		}
		kind, err := cluster.MapperFor(t.Context()).KindFor(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things1"})
		require.NoError(t, err)
		assert.Equal(t, schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Thing1"}, kind)
	}
	assert.Equal(t, []string{"/apis/a.example.com/v1", "/apis/b.example.com/v1"}, asked.taken())
}

func TestKindsAreAskedForOnceByAll(t *testing.T) {
	t.Parallel()
	asked := &paths{}
	cluster := hostile(t, serves(asked, map[string]int{"/apis/a.example.com/v1": 3}))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := cluster.MapperFor(t.Context()).RESTMapping(thing("a.example.com"), "v1")
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.Len(t, asked.taken(), 1)
}

func TestAKindThatIsNotServedIsAskedForEachTime(t *testing.T) {
	t.Parallel()
	asked := &paths{}
	cluster := hostile(t, serves(asked, map[string]int{"/apis/a.example.com/v1": 3}))
	for _, question := range []schema.GroupKind{{Group: "a.example.com", Kind: "Absent"}, thing("absent.example.com")} {
		for range 2 {
			_, err := cluster.MapperFor(t.Context()).RESTMapping(question, "v1")
			assert.True(t, meta.IsNoMatchError(err), "%v", err)
			assert.Len(t, asked.taken(), 1)
		}
	}
	_, err := cluster.MapperFor(t.Context()).KindFor(schema.GroupVersionResource{Group: "a.example.com", Version: "v1", Resource: "absent"})
	assert.True(t, meta.IsNoMatchError(err), "%v", err)
}

func TestNamesThatNoAPIServerHasAreNotAskedFor(t *testing.T) {
	t.Parallel()
	asked := &paths{}
	cluster := hostile(t, serves(asked, nil))
	for _, version := range []schema.GroupVersion{{Group: "..", Version: "api"}, {Group: "a?b=c", Version: "v1"}, {Group: "a", Version: "../v1"}, {Version: "v1#"}} {
		_, err := cluster.MapperFor(t.Context()).RESTMapping(schema.GroupKind{Group: version.Group, Kind: "Thing0"}, version.Version)
		assert.True(t, meta.IsNoMatchError(err), "%s: %v", version, err)
	}
	assert.Empty(t, asked.taken())
}

// TestKindsAreThoseOfTheLibrary compares with the mapper that knows all that the API server serves.
func TestKindsAreThoseOfTheLibrary(t *testing.T) {
	p := platform.Shared(t)
	cluster, err := newClients(t, p, Options{}).OpenKubeconfig("n", p.Kubeconfig)
	require.NoError(t, err)
	client, err := cluster.DiscoveryFor(t.Context())
	require.NoError(t, err)
	all, err := restmapper.GetAPIGroupResources(client)
	require.NoError(t, err)
	library, own := restmapper.NewDiscoveryRESTMapper(all), cluster.MapperFor(t.Context())
	compared := 0
	for _, group := range all {
		for version, resources := range group.VersionedResources {
			for _, resource := range resources {
				for _, name := range []string{resource.Kind, resource.Kind + "List", strings.ToLower(resource.Kind), "List", "Absent"} {
					kind := schema.GroupKind{Group: group.Group.Name, Kind: name}
					want, wanted := library.RESTMapping(kind, version)
					mapping, err := own.RESTMapping(kind, version)
					assert.Equal(t, want, mapping, "%s %s", kind, version)
					assert.Equal(t, wanted == nil, err == nil, "%s %s: %v", kind, version, err)
				}
				for _, name := range []string{resource.Name, resource.SingularName, "absent"} {
					question := schema.GroupVersionResource{Group: group.Group.Name, Version: version, Resource: name}
					want, wanted := library.KindFor(question)
					kind, err := own.KindFor(question)
					assert.Equal(t, want, kind, "%s", question)
					assert.Equal(t, wanted == nil, err == nil, "%s: %v", question, err)
				}
				compared++
			}
		}
	}
	assert.Greater(t, compared, 50)
}

func TestAQuestionWithoutAVersionIsAnsweredFromAll(t *testing.T) {
	p := platform.Shared(t)
	cluster, err := newClients(t, p, Options{}).OpenKubeconfig("n", p.Kubeconfig)
	require.NoError(t, err)
	mapper := cluster.MapperFor(t.Context())
	deployments := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	mapping, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	require.NoError(t, err)
	assert.Equal(t, deployments, mapping.Resource)
	kind, err := mapper.KindFor(schema.GroupVersionResource{Resource: "deployments"})
	require.NoError(t, err)
	assert.Equal(t, "Deployment", kind.Kind)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = cluster.MapperFor(ended).RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"})
	require.ErrorIs(t, err, context.Canceled)
}

// Applies and deletions go on where a cluster has more kinds than are read.
func TestTooManyKindsHoldUpNothingElse(t *testing.T) {
	t.Parallel()
	kinds := serves(&paths{}, map[string]int{"/api/v1": 1, "/apis/larger.example.com/v1": 6_000})
	cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/namespaces/kube-system" {
			answerJSON(w, `{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "kube-system"}}`)
			return
		}
		kinds(w, r)
	}, func(p *egress.Policy) { p.Most = 512 << 10 })
	_, err := cluster.MapperFor(t.Context()).RESTMapping(thing("larger.example.com"), "v1")
	require.ErrorIs(t, err, egress.ErrLarge)
	_, err = cluster.MapperFor(t.Context()).RESTMapping(thing(""), "v1")
	require.NoError(t, err)
	_, err = cluster.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).Get(t.Context(), "kube-system", metav1.GetOptions{})
	require.NoError(t, err)
}

// The name of the new kind is that of a resource which was there before.
func TestANewKindIsFoundThoughAnotherResourceHasItsName(t *testing.T) {
	t.Parallel()
	served := []metav1.APIResource{{Name: "settings", Kind: "Setting"}}
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, APIResources: served})
	})
	ask := func(kind string) error {
		_, err := cluster.MapperFor(t.Context()).RESTMapping(schema.GroupKind{Group: "a.example.com", Kind: kind}, "v1")
		return err
	}
	require.NoError(t, ask("Setting"))
	require.True(t, meta.IsNoMatchError(ask("Settings")))
	served = append(served, metav1.APIResource{Name: "settingses", Kind: "Settings"})
	require.NoError(t, ask("Settings"))
}

// live returns how many bytes are in use.
func live() int64 {
	runtime.GC()
	runtime.GC() // what the first one finalised
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) // #nosec G115 -- no machine has so much
}

// TestAnOpenedClusterTakesLittleMemory measures what stays of clusters that were asked for a kind, as most of them are.
func TestAnOpenedClusterTakesLittleMemory(t *testing.T) {
	p := platform.Shared(t)
	const count = 50
	clients := newClients(t, p, Options{})
	open := func(i int) {
		content := append(append([]byte{}, p.Kubeconfig...), strings.Repeat("\n", i)...) // another one for the cache
		cluster, err := clients.OpenKubeconfig("n", content)
		require.NoError(t, err)
		require.NoError(t, askKind(t.Context(), cluster))
		utilnet.CloseIdleConnectionsFor(cluster.Mapper.(boundMapper).next)
	}
	open(0)
	before := live()
	for i := range count {
		open(i + 1)
	}
	assert.Less(t, (live()-before)/count, int64(clusterMemory))
	assert.Equal(t, count+1, clients.opened.Len())
}
