// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
)

// mostUses is for how many requests one client of controller-runtime is used. It caches each kind that it was used for and forgets none, and a server may have
// any number of kinds.
const mostUses = 100

// boundClient learns the kind of an object within the context of the call, which the client underneath does not do. Where an object is a Go type it takes no
// answer of another kind: decoders choose the type by what the answer says, and some take hours to decode.
type boundClient struct {
	client.Client
	mapper *boundMapper
	// lists is what lists keep to; nil for nothing.
	lists *guard.Pace
	renew func() (client.Client, error)

	mu      sync.Mutex
	current client.Client
	uses    int
}

// newBoundClient returns a client that works with what renew returns.
func newBoundClient(mapper *boundMapper, lists *guard.Pace, renew func() (client.Client, error)) (*boundClient, error) {
	first, err := renew()
	return &boundClient{Client: first, mapper: mapper, lists: lists, renew: renew, current: first}, err
}

// knowing learns the kind of an object within ctx, and returns the client and the context to use for it.
func (c *boundClient) knowing(ctx context.Context, object runtime.Object) (context.Context, client.Client, error) {
	if gvk, err := apiutil.GVKForObject(object, c.Scheme()); err == nil {
		kind := gvk.GroupKind()
		if _, isList := object.(client.ObjectList); isList {
			kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		}
		if _, err := c.mapper.within(ctx).RESTMapping(kind, gvk.Version); err != nil {
			return nil, nil, err
		}
	}
	using, err := c.client()
	return c.expecting(ctx, object), using, err
}

// client returns the client to use next.
func (c *boundClient) client() (client.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.uses++; c.uses > mostUses {
		renewed, err := c.renew()
		if err != nil {
			return nil, err
		}
		c.current, c.uses = renewed, 1
	}
	return c.current, nil
}

// expecting returns a context for requests that are answered with an object.
func (c *boundClient) expecting(ctx context.Context, object runtime.Object) context.Context {
	switch object.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		return ctx
	}
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return ctx // nothing can be decoded into it
	}
	return Expecting(ctx, gvk.Kind)
}

// Expecting lets requests with the returned context succeed only with an object of the given kind. Whoever decodes answers into Go types has to say so, since
// decoders choose the type by what the answer says: a quantity in it may take hours, and what another type has counts as empty.
func Expecting(ctx context.Context, kind string) context.Context {
	return guard.WithKind(ctx, kind)
}

// Get reads an object.
func (c *boundClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	ctx, using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Get(ctx, key, object, options...)
}

// List reads objects, as soon as the lists that the namespace has read before allow it.
func (c *boundClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	ctx, using, err := c.knowing(ctx, list)
	if err != nil {
		return err
	}
	return using.List(guard.WithPace(ctx, c.lists), list, options...)
}

// Create creates an object.
func (c *boundClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	ctx, using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Create(ctx, object, options...)
}

// Update replaces an object.
func (c *boundClient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	ctx, using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Update(ctx, object, options...)
}

// Patch changes an object.
func (c *boundClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	ctx, using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Patch(ctx, object, patch, options...)
}

// Delete deletes an object. The answer is not decoded.
func (c *boundClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	_, using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Delete(ctx, object, options...)
}

// SubResource returns a client for a subresource of objects. Of its functions those are bound that are used.
func (c *boundClient) SubResource(name string) client.SubResourceClient {
	return &boundSubresource{SubResourceClient: c.Client.SubResource(name), of: c, name: name}
}

type boundSubresource struct {
	client.SubResourceClient
	of   *boundClient
	name string
}

// Create asks for a subresource of an object.
func (s *boundSubresource) Create(ctx context.Context, object, subresource client.Object, options ...client.SubResourceCreateOption) error {
	_, using, err := s.of.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.SubResource(s.name).Create(s.of.expecting(ctx, subresource), object, subresource, options...)
}
