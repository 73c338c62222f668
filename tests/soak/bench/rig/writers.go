// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// NewClient returns an uncached client of a user with all rights.
func NewClient(cluster *platform.Cluster, user string) (client.WithWatch, error) {
	config, err := cluster.NewUser(user, AllRights)
	if err != nil {
		return nil, fmt.Errorf("cannot make user %s: %w", user, err)
	}
	return client.NewWithWatch(config, client.Options{Scheme: cluster.Client().Scheme()})
}

// Parallel calls do for 0 … count-1 in this order from as many goroutines as there are workers, and returns the first error.
func Parallel(ctx context.Context, workers, count int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	var next atomic.Int64
	for range workers {
		group.Go(func() error {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				if err := do(ctx, i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// Create creates unit i.
func (u Units) Create(ctx context.Context, c client.Client, i int, version string) error {
	return c.Create(ctx, u.Installation(i, version))
}

// Update changes the spec of unit i with a merge patch.
func (u Units) Update(ctx context.Context, c client.Client, i int, version string) error {
	wanted := u.Installation(i, version)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"blueprint": wanted.Spec.Blueprint}})
	if err != nil {
		return fmt.Errorf("cannot encode the patch of %s: %w", wanted.Name, err)
	}
	return c.Patch(ctx, wanted, client.RawPatch(types.MergePatchType, patch))
}

// Delete deletes unit i.
func (u Units) Delete(ctx context.Context, c client.Client, i int) error {
	return c.Delete(ctx, u.Installation(i, ""))
}
