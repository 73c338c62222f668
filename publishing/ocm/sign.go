// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
	"github.com/flux-landscaper/flux-landscaper/sources/component/signing"
)

// Sign signs component versions and replaces their descriptors by the signed ones. A signature covers all that a version refers to: other
// versions of the list, and else what place holds; place may be nil.
func Sign(ctx context.Context, r publishing.Registry, place *Place, versions []formats.Version, options signing.SignOptions) error {
	made := map[component.Key]*component.Descriptor{}
	for i := range versions {
		made[versions[i].Descriptor.Key()] = versions[i].Descriptor
	}
	others := component.Resolver(component.ResolverFunc(nowhere))
	if place != nil {
		reader, err := NewReader(r, place)
		if err != nil {
			return err
		}
		defer func() { _ = reader.Close() }()
		others = component.ResolverFunc(func(ctx context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
			return reader.Get(ctx, key)
		})
	}
	resolver := component.ResolverFunc(func(ctx context.Context, key component.Key, hint component.Hint) (*component.Descriptor, error) {
		if found := made[key]; found != nil {
			return found, nil
		}
		return others.Resolve(ctx, key, hint)
	})
	for i := range versions {
		closed, err := component.Closure(ctx, versions[i].Descriptor, resolver, component.Limits{})
		if err != nil {
			return err
		}
		if versions[i].Descriptor, err = signing.Sign(closed, options); err != nil {
			return err
		}
		made[versions[i].Descriptor.Key()] = versions[i].Descriptor
	}
	return nil
}

// nowhere finds nothing.
func nowhere(_ context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
	return nil, fmt.Errorf("component %s: %w: a signature covers it, so give the --repository that holds it, or make it in the same constructor",
		key, component.ErrNotFound)
}
