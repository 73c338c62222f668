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
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

const (
	// discoveryTime bounds one question for the kinds of a cluster, with all requests that it takes.
	discoveryTime = 30 * time.Second
	// knownVersions is of how many versions of API groups the kinds are kept for a cluster.
	knownVersions = 64
)

// kinds asks a cluster which kinds it serves in one version of an API group, and for all of them where no version is named. The lazy mapper of
// controller-runtime keeps all kinds of a cluster, a megabyte for each of hundreds of Targets, and its questions end with no context.
type kinds struct {
	config *rest.Config
	next   http.RoundTripper
	// turn is held by the question that is answered.
	turn chan struct{}
	// known are slices of metav1.APIResource by schema.GroupVersion.
	known *lru.Cache
}

func newKinds(config *rest.Config, pool *http.Client) *kinds {
	return &kinds{config: config, next: pool.Transport, turn: make(chan struct{}, 1), known: lru.New(knownVersions)}
}

// ask calls question with a client of the discovery, one at a time. All requests that question leads to end with ctx.
func (k *kinds) ask(ctx context.Context, question func(discovery.DiscoveryInterface) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTime, egress.ErrSilent)
	defer cancel()
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("wait for the kinds of the cluster: %w", context.Cause(ctx))
	}
	defer func() { <-k.turn }()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	client, err := discovery.NewDiscoveryClientForConfigAndClient(k.config, &http.Client{Transport: &ending{ctx: ctx, next: k.next}})
	if err != nil {
		return fmt.Errorf("prepare discovery: %w", err)
	}
	return question(client)
}

// in asks for the kinds of a version of a group; there are none where it is not served. Former are those that were known before.
func (k *kinds) in(ctx context.Context, version schema.GroupVersion, former []metav1.APIResource) (served []metav1.APIResource, err error) {
	if len(validation.IsDNS1035Label(version.Version)) > 0 || version.Group != "" && len(validation.IsDNS1123Subdomain(version.Group)) > 0 {
		return nil, nil // they would be part of a path
	}
	err = k.ask(ctx, func(client discovery.DiscoveryInterface) error {
		if served = k.remembered(version); len(served) != len(former) {
			return nil // another question was answered meanwhile
		}
		list, err := client.ServerResourcesForGroupVersion(version.String())
		switch {
		case apierrors.IsNotFound(err):
			served = nil
		case err != nil:
			return fmt.Errorf("ask for the kinds of %s: %w", version, err)
		default:
			served = slim(list.APIResources)
		}
		k.known.Add(version, served)
		return nil
	})
	return served, err
}

// slim keeps of kinds what mappers need, and nothing of subresources.
func slim(all []metav1.APIResource) []metav1.APIResource {
	served := make([]metav1.APIResource, 0, len(all))
	for _, one := range all {
		if !strings.Contains(one.Name, "/") {
			served = append(served, metav1.APIResource{Kind: one.Kind, Name: one.Name, SingularName: one.SingularName, Namespaced: one.Namespaced})
		}
	}
	return slices.Clip(served)
}

func (k *kinds) remembered(version schema.GroupVersion) []metav1.APIResource {
	served, _ := k.known.Get(version)
	found, _ := served.([]metav1.APIResource)
	return found
}

// mapperOf returns a mapper of a version of a group, for those of its kinds that a name may mean: it builds maps of all that it gets.
func mapperOf(version schema.GroupVersion, served []metav1.APIResource, name string) meta.RESTMapper {
	meant := slices.DeleteFunc(slices.Clone(served), func(r metav1.APIResource) bool {
		return name != r.Kind && name != r.Kind+"List" && name != "List" && !strings.EqualFold(name, r.Name) && !strings.EqualFold(name, cmp.Or(r.SingularName, r.Kind))
	})
	if len(meant) == 0 {
		return meta.MultiRESTMapper{}
	}
	group := metav1.APIGroup{Name: version.Group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: version.String(), Version: version.Version}}}
	group.PreferredVersion = group.Versions[0]
	return restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{
		{Group: group, VersionedResources: map[string][]metav1.APIResource{version.Version: meant}},
	})
}

// boundMapper is a mapper whose questions end with a context.
type boundMapper struct {
	*kinds
	ctx context.Context
}

// MapperFor returns the mapper of the cluster bound to ctx: a question that the cluster has to be asked for ends with ctx, and after half a
// minute at the latest. Mapper is the same with the second limit alone.
func (c *Cluster) MapperFor(ctx context.Context) meta.RESTMapper {
	if bound, ok := c.Mapper.(boundMapper); ok {
		return boundMapper{bound.kinds, ctx}
	}
	return c.Mapper
}

// DiscoveryFor returns a client that asks the cluster for all that it serves; its requests end with ctx.
func (c *Cluster) DiscoveryFor(ctx context.Context) (discovery.DiscoveryInterface, error) {
	config := rest.CopyConfig(c.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &ending{ctx: ctx, next: next} })
	return discovery.NewDiscoveryClientForConfig(config)
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
func inVersion[T any](b boundMapper, version schema.GroupVersion, name string, question func(meta.RESTMapper) (T, error)) (answer T, err error) {
	former := b.remembered(version)
	if answer, err = question(mapperOf(version, former, name)); !meta.IsNoMatchError(err) {
		return answer, err
	}
	served, err := b.in(b.ctx, version, former)
	if err != nil {
		return answer, err
	}
	return question(mapperOf(version, served, name))
}

// inAny answers a question that names no version, for which the cluster is asked for all that it serves.
func inAny[T any](b boundMapper, question func(meta.RESTMapper) (T, error)) (answer T, err error) {
	err = b.ask(b.ctx, func(client discovery.DiscoveryInterface) error {
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
func (b boundMapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	question := func(m meta.RESTMapper) (schema.GroupVersionKind, error) { return m.KindFor(resource) }
	if resource.Version == "" {
		return inAny(b, question)
	}
	return inVersion(b, resource.GroupVersion(), resource.Resource, question)
}

// KindsFor returns the kinds that a resource may have.
func (b boundMapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return inAny(b, func(m meta.RESTMapper) ([]schema.GroupVersionKind, error) { return m.KindsFor(resource) })
}

// ResourceFor completes a resource.
func (b boundMapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return inAny(b, func(m meta.RESTMapper) (schema.GroupVersionResource, error) { return m.ResourceFor(input) })
}

// ResourcesFor returns the resources that a partial one may mean.
func (b boundMapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return inAny(b, func(m meta.RESTMapper) ([]schema.GroupVersionResource, error) { return m.ResourcesFor(input) })
}

// RESTMapping returns how a kind is served.
func (b boundMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	question := func(m meta.RESTMapper) (*meta.RESTMapping, error) { return m.RESTMapping(gk, versions...) }
	if len(versions) != 1 || versions[0] == "" {
		return inAny(b, question)
	}
	return inVersion(b, schema.GroupVersion{Group: gk.Group, Version: versions[0]}, gk.Kind, question)
}

// RESTMappings returns how all versions of a kind are served.
func (b boundMapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return inAny(b, func(m meta.RESTMapper) ([]*meta.RESTMapping, error) { return m.RESTMappings(gk, versions...) })
}

// ResourceSingularizer returns the singular of a resource.
func (b boundMapper) ResourceSingularizer(resource string) (string, error) {
	return inAny(b, func(m meta.RESTMapper) (string, error) { return m.ResourceSingularizer(resource) })
}

// boundClient learns the kind of an object within the context of the call, which the client underneath does not do.
type boundClient struct {
	client.Client
	kinds *kinds
}

func (c boundClient) learn(ctx context.Context, object runtime.Object) error {
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil // the client says so itself
	}
	if _, isList := object.(client.ObjectList); isList {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	_, err = boundMapper{c.kinds, ctx}.RESTMapping(gvk.GroupKind(), gvk.Version)
	return err
}

// knowing calls do once the kind of an object is known.
func (c boundClient) knowing(ctx context.Context, object runtime.Object, do func() error) error {
	if err := c.learn(ctx, object); err != nil {
		return err
	}
	return do()
}

// Get reads an object.
func (c boundClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	return c.knowing(ctx, object, func() error { return c.Client.Get(ctx, key, object, options...) })
}

// List reads objects.
func (c boundClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.knowing(ctx, list, func() error { return c.Client.List(ctx, list, options...) })
}

// Create creates an object.
func (c boundClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	return c.knowing(ctx, object, func() error { return c.Client.Create(ctx, object, options...) })
}

// Update replaces an object.
func (c boundClient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	return c.knowing(ctx, object, func() error { return c.Client.Update(ctx, object, options...) })
}

// Patch changes an object.
func (c boundClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	return c.knowing(ctx, object, func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

// Delete deletes an object.
func (c boundClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	return c.knowing(ctx, object, func() error { return c.Client.Delete(ctx, object, options...) })
}
