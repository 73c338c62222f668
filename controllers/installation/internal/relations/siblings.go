// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func namesOf(installations []*v1alpha1.Installation) []string {
	names := make([]string, 0, len(installations))
	for _, inst := range installations {
		names = append(names, inst.Name)
	}
	return names
}

// Producers returns the siblings that export what an Installation imports, by name.
func (f *Finder) Producers(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	return f.siblingsBy(ctx, inst, ExportIndex, ImportsOf(inst))
}

// consumers returns the siblings that import what an Installation exports, by name.
func (f *Finder) consumers(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	return f.siblingsBy(ctx, inst, ImportIndex, ExportsOf(inst))
}

// siblingsBy returns siblings from an index. They are shared with the cache and must not be changed.
func (f *Finder) siblingsBy(ctx context.Context, inst *v1alpha1.Installation, index string, keys []string) ([]*v1alpha1.Installation, error) {
	found := map[string]*v1alpha1.Installation{}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if err := ctx.Err(); err != nil { // the cache does not ask it
			return nil, err
		}
		list := &v1alpha1.InstallationList{}
		err := f.List(ctx, list, client.InNamespace(inst.Namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if other := &list.Items[i]; other.UID != inst.UID && ParentOf(other) == ParentOf(inst) {
				found[other.Name] = other
			}
		}
	}
	siblings := make([]*v1alpha1.Installation, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		siblings = append(siblings, found[name])
	}
	return siblings, nil
}
