// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/listing"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// discoveryTime bounds one question for the kinds of a cluster, with all requests that it takes.
const discoveryTime = 30 * time.Second

// kindsMemory is how many bytes are kept of what all clusters serve. What had to go is asked for again.
const kindsMemory = 16 << 20

// mostMeant is how many kinds with one name are looked at in a version of a group; API servers have one or two.
const mostMeant = 16

// servedVersions are the versions of API groups that clusters were asked for.
type servedVersions = memory.Cache[servedVersion, []servedKind]

// servedVersion is one version of an API group on one cluster.
type servedVersion struct {
	cluster digest
	schema.GroupVersion
}

// servedKind is what an API server says about a kind, without what no mapper needs.
type servedKind struct {
	kind, resource, singular string
	isNamespaced             bool
}

// isMeant reports whether the name of a kind, of its list or of its resource means this kind. List is one of any kinds.
func (s servedKind) isMeant(name string) bool {
	return name == "List" || name == s.kind || name == s.kind+"List" || strings.EqualFold(name, s.resource) || strings.EqualFold(name, cmp.Or(s.singular, s.kind))
}

// kinds asks a cluster which kinds it serves in one version of an API group, and for all of them where no version is named. One question of each namespace
// is answered at a time; it ends with the context of who asks, also while it waits for its turn.
type kinds struct {
	config *rest.Config
	next   http.RoundTripper

	mu sync.Mutex
	// turns has a semaphore for each namespace, guarded by mu.
	turns map[string]chan struct{}

	// known has what was asked for before, under the digest of what the cluster is reached with: who opens it anew finds it again.
	known   *servedVersions
	cluster digest
}

func newKinds(config *rest.Config, pool *http.Client, known *servedVersions) *kinds {
	return &kinds{config: config, next: pool.Transport, known: known, turns: map[string]chan struct{}{}}
}

// turnOf returns the semaphore of a namespace. Namespaces that reach the same cluster do not wait for each other.
func (k *kinds) turnOf(owner string) chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.turns[owner] == nil {
		k.turns[owner] = make(chan struct{}, 1)
	}
	return k.turns[owner]
}

// ask calls question with a client of the discovery when the owner has its turn. All requests that question leads to end with ctx, and keep to a pace.
func (k *kinds) ask(ctx context.Context, owner string, pace *guard.Pace, question func(discovery.DiscoveryInterface) error) error {
	ctx, cancel := context.WithTimeoutCause(guard.WithPace(ctx, pace), discoveryTime, guard.ErrSilent)
	defer cancel()
	turn := k.turnOf(owner)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for the kinds of the cluster: %w", context.Cause(ctx))
	}
	defer func() { <-turn }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	client, err := discovery.NewDiscoveryClientForConfigAndClient(k.config, &http.Client{Transport: &ending{ctx: ctx, next: k.next}})
	if err != nil {
		return fmt.Errorf("prepare discovery: %w", err)
	}
	return question(&listing.Client{DiscoveryClient: client})
}

// meant asks the cluster for the kinds of a version of a group that a name may mean, none where there is no such version. All kinds of the version are kept in
// memory, which counts for the owner. Former are those that were known before; where others are known by now, another question has been answered meanwhile.
func (k *kinds) meant(ctx context.Context, owner string, pace *guard.Pace, version schema.GroupVersion, name string, former []servedKind) ([]servedKind, error) {
	var found []servedKind
	err := k.ask(ctx, owner, pace, func(client discovery.DiscoveryInterface) error {
		if found = k.remembered(owner, version, name); len(found) > 0 && !slices.Equal(found, former) {
			return nil
		}
		list, err := client.ServerResourcesForGroupVersion(version.String())
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("ask for the kinds of %s: %w", version, err)
		}
		served := kindsIn(list)
		found = withName(served, name)
		if len(served) == 0 {
			k.known.Remove(servedVersion{k.cluster, version})
			return nil
		}
		k.known.Put(owner, servedVersion{k.cluster, version}, served, memory.Size(served))
		return nil
	})
	return found, err
}

func (k *kinds) remembered(owner string, version schema.GroupVersion, name string) []servedKind {
	served, _ := k.known.Get(owner, servedVersion{k.cluster, version})
	return withName(served, name)
}

func withName(served []servedKind, name string) (found []servedKind) {
	for _, one := range served {
		if one.isMeant(name) && len(found) < mostMeant {
			found = append(found, one)
		}
	}
	return found
}

// kindsIn returns the kinds in a list, without subresources.
func kindsIn(list *metav1.APIResourceList) (served []servedKind) {
	if list == nil {
		return nil
	}
	for _, resource := range list.APIResources {
		if resource.Kind != "" && resource.Name != "" && !strings.Contains(resource.Name, "/") {
			served = append(served, servedKind{resource.Kind, resource.Name, resource.SingularName, resource.Namespaced})
		}
	}
	return slices.Clone(served) // append allocates up to twice as much, which would stay in memory
}

// mapperOf returns a mapper that knows some kinds of a version of a group.
func mapperOf(version schema.GroupVersion, served []servedKind) meta.RESTMapper {
	if len(served) == 0 {
		return meta.MultiRESTMapper{}
	}
	group := &restmapper.APIGroupResources{Group: metav1.APIGroup{
		Name: version.Group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: version.String(), Version: version.Version}},
	}}
	group.Group.PreferredVersion = group.Group.Versions[0]
	resources := make([]metav1.APIResource, 0, len(served))
	for _, one := range served {
		resources = append(resources, metav1.APIResource{Kind: one.kind, Name: one.resource, SingularName: one.singular, Namespaced: one.isNamespaced})
	}
	group.VersionedResources = map[string][]metav1.APIResource{version.Version: resources}
	return restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{group})
}

// boundMapper is a mapper whose questions end with a context.
type boundMapper struct {
	kinds *kinds
	// owner is the namespace that asks, pace what it keeps to; nil for none.
	owner string
	pace  *guard.Pace
	ctx   context.Context
}

func (b *boundMapper) within(ctx context.Context) *boundMapper {
	return &boundMapper{kinds: b.kinds, owner: b.owner, pace: b.pace, ctx: ctx}
}

// MapperFor returns the mapper of the cluster bound to ctx: a question that the cluster has to be asked for ends with ctx, and after half a
// minute at the latest. Mapper is the same with the second limit alone.
func (c *Cluster) MapperFor(ctx context.Context) meta.RESTMapper {
	if bound, ok := c.Mapper.(*boundMapper); ok {
		return bound.within(ctx)
	}
	return c.Mapper
}

// DiscoveryFor returns a client that asks the cluster for all that it serves; its requests end with ctx.
func (c *Cluster) DiscoveryFor(ctx context.Context) (discovery.DiscoveryInterface, error) {
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &ending{ctx: guard.WithPace(ctx, c.paces.kinds), next: next}
	})
	client, err := discovery.NewDiscoveryClientForConfig(config)
	return &listing.Client{DiscoveryClient: client}, err
}

// ending gives requests that have no context of their own one.
type ending struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip sends the request within the context.
func (e *ending) RoundTrip(request *http.Request) (*http.Response, error) {
	return e.next.RoundTrip(request.WithContext(e.ctx))
}

// WrappedRoundTripper lets client-go find the connection pool underneath.
func (e *ending) WrappedRoundTripper() http.RoundTripper { return e.next }

// inVersion answers a question about a name in a version of a group. The cluster is asked where the kinds that are known do not answer it.
func inVersion[T any](b *boundMapper, version schema.GroupVersion, name string, question func(meta.RESTMapper) (T, error)) (answer T, err error) {
	former := b.kinds.remembered(b.owner, version, name)
	if len(former) > 0 {
		if answer, err = question(mapperOf(version, former)); !meta.IsNoMatchError(err) {
			return answer, err
		}
	}
	served, err := b.kinds.meant(b.ctx, b.owner, b.pace, version, name, former)
	if err != nil {
		return answer, err
	}
	return question(mapperOf(version, served))
}

// inAny answers a question that names no version, for which the cluster is asked for all that it serves.
func inAny[T any](b *boundMapper, question func(meta.RESTMapper) (T, error)) (answer T, err error) {
	err = b.kinds.ask(b.ctx, b.owner, b.pace, func(client discovery.DiscoveryInterface) error {
		all, err := restmapper.GetAPIGroupResources(client)
		if err != nil {
			return err
		}
		answer, err = question(restmapper.NewDiscoveryRESTMapper(all))
		return err
	})
	return answer, err
}

// KindFor returns the kind of a resource.
func (b *boundMapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	question := func(m meta.RESTMapper) (schema.GroupVersionKind, error) { return m.KindFor(resource) }
	if resource.Version == "" {
		return inAny(b, question)
	}
	return inVersion(b, resource.GroupVersion(), resource.Resource, question)
}

// KindsFor returns the kinds that a resource may have.
func (b *boundMapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return inAny(b, func(m meta.RESTMapper) ([]schema.GroupVersionKind, error) { return m.KindsFor(resource) })
}

// ResourceFor completes a resource.
func (b *boundMapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return inAny(b, func(m meta.RESTMapper) (schema.GroupVersionResource, error) { return m.ResourceFor(input) })
}

// ResourcesFor returns the resources that a partial one may mean.
func (b *boundMapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return inAny(b, func(m meta.RESTMapper) ([]schema.GroupVersionResource, error) { return m.ResourcesFor(input) })
}

// RESTMapping returns how a kind is served.
func (b *boundMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	question := func(m meta.RESTMapper) (*meta.RESTMapping, error) { return m.RESTMapping(gk, versions...) }
	if len(versions) != 1 || versions[0] == "" {
		return inAny(b, question)
	}
	return inVersion(b, schema.GroupVersion{Group: gk.Group, Version: versions[0]}, gk.Kind, question)
}

// RESTMappings returns how all versions of a kind are served.
func (b *boundMapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return inAny(b, func(m meta.RESTMapper) ([]*meta.RESTMapping, error) { return m.RESTMappings(gk, versions...) })
}

// ResourceSingularizer returns the singular of a resource.
func (b *boundMapper) ResourceSingularizer(resource string) (string, error) {
	return inAny(b, func(m meta.RESTMapper) (string, error) { return m.ResourceSingularizer(resource) })
}
