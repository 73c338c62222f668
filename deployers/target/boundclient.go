// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
)

// mostUses is for how many requests one client of controller-runtime is used. It caches each kind that it was used for and forgets none, and a server may have
// any number of kinds.
const mostUses = 100

// boundClient learns the kind of an object within the context of the call, which the client underneath does not do.
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

// knowing learns the kind of an object within ctx, and returns the client to use for it.
func (c *boundClient) knowing(ctx context.Context, object runtime.Object) (client.Client, error) {
	if gvk, err := apiutil.GVKForObject(object, c.Scheme()); err == nil {
		kind := gvk.GroupKind()
		if _, isList := object.(client.ObjectList); isList {
			kind.Kind = strings.TrimSuffix(kind.Kind, "List")
		}
		if _, err := c.mapper.within(ctx).RESTMapping(kind, gvk.Version); err != nil {
			return nil, err
		}
	}
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

// Get reads an object.
func (c *boundClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Get(ctx, key, object, options...)
}

// List reads objects, as soon as the lists that the namespace has read before allow it.
func (c *boundClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	using, err := c.knowing(ctx, list)
	if err != nil {
		return err
	}
	return using.List(guard.WithPace(ctx, c.lists), list, options...)
}

// Create creates an object.
func (c *boundClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Create(ctx, object, options...)
}

// Update replaces an object.
func (c *boundClient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Update(ctx, object, options...)
}

// Patch changes an object.
func (c *boundClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Patch(ctx, object, patch, options...)
}

// Delete deletes an object.
func (c *boundClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	using, err := c.knowing(ctx, object)
	if err != nil {
		return err
	}
	return using.Delete(ctx, object, options...)
}
