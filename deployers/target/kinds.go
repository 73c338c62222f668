// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
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

	"github.com/flux-landscaper/flux-landscaper/api/fault"
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
	asking singleflight.Group
	// known are *versionMapper by schema.GroupVersion.
	known *lru.Cache
}

// versionMapper knows the kinds of one version of a group.
type versionMapper struct{ meta.RESTMapper }

// ask returns a mapper of the kinds of a version of a group as the cluster serves them now, and of all kinds for the empty version. Former is the one that
// was known before. Whoever asks for the same at the same time gets the same answer. The requests end with the context of the first of them; another one
// asks then.
func (k *kinds) ask(ctx context.Context, version schema.GroupVersion, former any) (meta.RESTMapper, error) {
	for {
		answer := k.asking.DoChan(version.String(), func() (found any, err error) {
			if known, _ := k.known.Get(version); known != former {
				return known, nil
			}
			err = fault.Survived(ctx, func() (err error) {
				found, err = k.request(ctx, version)
				return err
			})
			if err != nil && ctx.Err() != nil {
				return nil, errLeft
			}
			return found, err
		})
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case result := <-answer:
			switch {
			case errors.Is(result.Err, errLeft):
				continue
			case result.Err != nil:
				return nil, result.Err
			}
			return result.Val.(*versionMapper), nil
		}
	}
}

// errLeft says that whoever asked a question gave it up.
var errLeft = errors.New("the question was given up")

func (k *kinds) request(ctx context.Context, version schema.GroupVersion) (*versionMapper, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTime, egress.ErrSilent)
	defer cancel()
	client, err := discovery.NewDiscoveryClientForConfigAndClient(k.config, &http.Client{Transport: &ending{ctx: ctx, next: k.next}})
	if err != nil {
		return nil, fmt.Errorf("prepare discovery: %w", err)
	}
	if version.Empty() {
		all, err := restmapper.GetAPIGroupResources(client)
		return &versionMapper{restmapper.NewDiscoveryRESTMapper(all)}, err
	}
	list, err := client.ServerResourcesForGroupVersion(version.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("ask for the kinds of %s: %w", version, err)
	}
	found := mapperOf(version, list)
	k.known.Add(version, found)
	return found, nil
}

// mapperOf returns a mapper of a version of a group, without subresources; list may be nil.
func mapperOf(version schema.GroupVersion, list *metav1.APIResourceList) *versionMapper {
	if list == nil {
		return &versionMapper{meta.MultiRESTMapper{}}
	}
	served := slices.DeleteFunc(list.APIResources, func(one metav1.APIResource) bool { return strings.Contains(one.Name, "/") })
	group := metav1.APIGroup{Name: version.Group, Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: version.String(), Version: version.Version}}}
	group.PreferredVersion = group.Versions[0]
	return &versionMapper{restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{
		{Group: group, VersionedResources: map[string][]metav1.APIResource{version.Version: served}},
	})}
}

// boundMapper is a mapper whose questions end with a context. It knows no answer to those that neither we nor Helm ask.
type boundMapper struct {
	meta.MultiRESTMapper
	*kinds
	ctx context.Context
}

// MapperFor returns the mapper of the cluster bound to ctx: a question that the cluster has to be asked for ends with ctx, and after half a
// minute at the latest. Mapper is the same with the second limit alone.
func (c *Cluster) MapperFor(ctx context.Context) meta.RESTMapper {
	if bound, ok := c.Mapper.(boundMapper); ok {
		return boundMapper{kinds: bound.kinds, ctx: ctx}
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

// answered answers a question about a version of a group, or about all where that is empty. The cluster is asked where the kinds that are known do not
// answer it.
func answered[T any](b boundMapper, version schema.GroupVersion, question func(meta.RESTMapper) (T, error)) (answer T, err error) {
	known, isKnown := b.known.Get(version)
	if isKnown {
		if answer, err = question(known.(*versionMapper)); !meta.IsNoMatchError(err) {
			return answer, err
		}
	}
	mapper, err := b.ask(b.ctx, version, known)
	if err != nil {
		return answer, err
	}
	return question(mapper)
}

// KindFor returns the kind of a resource.
func (b boundMapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	version := resource.GroupVersion()
	if version.Version == "" {
		version = schema.GroupVersion{}
	}
	return answered(b, version, func(m meta.RESTMapper) (schema.GroupVersionKind, error) { return m.KindFor(resource) })
}

// RESTMapping returns how a kind is served.
func (b boundMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	version := schema.GroupVersion{}
	if len(versions) == 1 && versions[0] != "" {
		version = schema.GroupVersion{Group: gk.Group, Version: versions[0]}
	}
	if len(version.Version) > 0 && len(validation.IsDNS1035Label(version.Version)) > 0 || version.Group != "" && len(validation.IsDNS1123Subdomain(version.Group)) > 0 {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions} // they would be part of a path
	}
	return answered(b, version, func(m meta.RESTMapper) (*meta.RESTMapping, error) { return m.RESTMapping(gk, versions...) })
}

// boundClient learns the kind of an object within the context of the call, which the client underneath does not do.
type boundClient struct {
	client.Client
	kinds *kinds
}

// knowing calls do once the kind of an object is known.
func (c boundClient) knowing(ctx context.Context, object runtime.Object, do func() error) error {
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return do() // the client says so itself
	}
	if _, isList := object.(client.ObjectList); isList {
		gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	}
	if _, err = (boundMapper{kinds: c.kinds, ctx: ctx}).RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
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
