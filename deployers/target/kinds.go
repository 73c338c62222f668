// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
)

// discoveryTime bounds one question for the kinds of a cluster, with all requests that it takes.
const discoveryTime = 30 * time.Second

// kinds asks a cluster for its kinds. One question is answered at a time; it ends with the context of who asks, also while it waits
// for its turn.
type kinds struct {
	mapper meta.RESTMapper
	turn   chan struct{}
	next   http.RoundTripper
	// asking is the context of the question that has its turn.
	asking context.Context
}

func newKinds(config *rest.Config, pool *http.Client) (*kinds, error) {
	k := &kinds{turn: make(chan struct{}, 1), next: pool.Transport}
	var err error
	k.mapper, err = apiutil.NewDynamicRESTMapper(config, &http.Client{Transport: k})
	return k, err
}

// RoundTrip sends a request of the discovery, whose own requests have no context.
func (k *kinds) RoundTrip(request *http.Request) (*http.Response, error) {
	return k.next.RoundTrip(request.WithContext(k.asking))
}

// WrappedRoundTripper lets client-go find the connection pool underneath.
func (k *kinds) WrappedRoundTripper() http.RoundTripper { return k.next }

// ask calls question when it has its turn. All requests that question leads to end with ctx.
func (k *kinds) ask(ctx context.Context, question func(meta.RESTMapper) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, discoveryTime, guard.ErrSilent)
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
	k.asking = ctx
	return question(k.mapper)
}

// boundMapper is a mapper whose questions end with a context.
type boundMapper struct {
	kinds *kinds
	ctx   context.Context
}

// MapperFor returns the mapper of the cluster bound to ctx: a question that the cluster has to be asked for ends with ctx, and after half a
// minute at the latest. Mapper is the same with the second limit alone.
func (c *Cluster) MapperFor(ctx context.Context) meta.RESTMapper {
	if bound, ok := c.Mapper.(*boundMapper); ok {
		return &boundMapper{kinds: bound.kinds, ctx: ctx}
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

func answered[T any](b *boundMapper, question func(meta.RESTMapper) (T, error)) (answer T, err error) {
	err = b.kinds.ask(b.ctx, func(mapper meta.RESTMapper) error {
		answer, err = question(mapper)
		return err
	})
	return answer, err
}

// KindFor returns the kind of a resource.
func (b *boundMapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return answered(b, func(m meta.RESTMapper) (schema.GroupVersionKind, error) { return m.KindFor(resource) })
}

// KindsFor returns the kinds that a resource may have.
func (b *boundMapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return answered(b, func(m meta.RESTMapper) ([]schema.GroupVersionKind, error) { return m.KindsFor(resource) })
}

// ResourceFor completes a resource.
func (b *boundMapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return answered(b, func(m meta.RESTMapper) (schema.GroupVersionResource, error) { return m.ResourceFor(input) })
}

// ResourcesFor returns the resources that a partial one may mean.
func (b *boundMapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return answered(b, func(m meta.RESTMapper) ([]schema.GroupVersionResource, error) { return m.ResourcesFor(input) })
}

// RESTMapping returns how a kind is served.
func (b *boundMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return answered(b, func(m meta.RESTMapper) (*meta.RESTMapping, error) { return m.RESTMapping(gk, versions...) })
}

// RESTMappings returns how all versions of a kind are served.
func (b *boundMapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return answered(b, func(m meta.RESTMapper) ([]*meta.RESTMapping, error) { return m.RESTMappings(gk, versions...) })
}

// ResourceSingularizer returns the singular of a resource.
func (b *boundMapper) ResourceSingularizer(resource string) (string, error) {
	return answered(b, func(m meta.RESTMapper) (string, error) { return m.ResourceSingularizer(resource) })
}
