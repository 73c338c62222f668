// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// boundClient learns the kind of an object within the context of the call, which the client underneath does not do.
type boundClient struct {
	client.Client
	mapper *boundMapper
}

// learn asks for the kind of an object.
func (c *boundClient) learn(ctx context.Context, object runtime.Object) error {
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil
	}
	kind := gvk.GroupKind()
	if _, isList := object.(client.ObjectList); isList {
		kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	}
	_, err = c.mapper.within(ctx).RESTMapping(kind, gvk.Version)
	return err
}

// Get reads an object.
func (c *boundClient) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if err := c.learn(ctx, object); err != nil {
		return err
	}
	return c.Client.Get(ctx, key, object, options...)
}

// List reads objects.
func (c *boundClient) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if err := c.learn(ctx, list); err != nil {
		return err
	}
	return c.Client.List(ctx, list, options...)
}

// Create creates an object.
func (c *boundClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := c.learn(ctx, object); err != nil {
		return err
	}
	return c.Client.Create(ctx, object, options...)
}

// Update replaces an object.
func (c *boundClient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	if err := c.learn(ctx, object); err != nil {
		return err
	}
	return c.Client.Update(ctx, object, options...)
}

// Patch changes an object.
func (c *boundClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.learn(ctx, object); err != nil {
		return err
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

// Delete deletes an object.
func (c *boundClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	if err := c.learn(ctx, object); err != nil {
		return err
	}
	return c.Client.Delete(ctx, object, options...)
}
