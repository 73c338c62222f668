// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package removal

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// defaultGroups are the deletion groups of configurations that have none.
var defaultGroups = []managedresource.DeletionGroupDefinition{
	predefined(managedresource.NamespacedResources),
	predefined(managedresource.ClusterScopedResources),
	predefined(managedresource.CRDs),
}

func predefined(kind managedresource.PredefinedResourceGroupType) managedresource.DeletionGroupDefinition {
	return managedresource.DeletionGroupDefinition{
		PredefinedResourceGroup: &managedresource.PredefinedResourceGroup{Type: kind},
	}
}

// selection is one resource type of a custom group, with its kind as the target names it.
type selection struct {
	managedresource.ResourceType
	gvk schema.GroupVersionKind
}

func (s selection) selects(gvk schema.GroupVersionKind, namespace, name string) bool {
	return s.gvk == gvk && (len(s.Names) == 0 || slices.Contains(s.Names, name)) && (len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace))
}

// deletionGroup is a deletion group with its managed resources.
type deletionGroup struct {
	cluster *target.Cluster
	// predefined is empty for a custom group.
	predefined managedresource.PredefinedResourceGroupType
	selections []selection
	// force removes finalizers, everything means also what is not managed, elsewhere that the group is for another target.
	force, everything, elsewhere bool
	members                      []managedresource.ManagedResourceStatus
}

// newDeletionGroup resolves the kinds of a group on the target it is about.
func newDeletionGroup(ctx context.Context, cluster *target.Cluster, definition managedresource.DeletionGroupDefinition) (*deletionGroup, error) {
	if given := definition.PredefinedResourceGroup; given != nil {
		return &deletionGroup{cluster: cluster, predefined: given.Type, force: given.ForceDelete}, nil
	}
	given := definition.CustomResourceGroup
	if given == nil {
		return &deletionGroup{cluster: cluster}, nil
	}
	group := &deletionGroup{
		cluster: cluster, force: given.ForceDelete, everything: given.DeleteAllResources, elsewhere: given.TargetName != nil && *given.TargetName != "",
	}
	for _, kind := range given.Resources {
		gvk, err := objects.KindNamed(ctx, cluster, kind.APIVersion, kind.Kind)
		if err != nil {
			return nil, err
		}
		group.selections = append(group.selections, selection{kind, gvk})
	}
	return group, nil
}

// takes reports whether a managed resource belongs to the group. Groups for other targets take none.
func (g *deletionGroup) takes(ref managedresource.ResourceReference) bool {
	gvk := objects.GVKOf(ref)
	isDefinition := gvk.GroupKind() == objects.CRDGroupKind
	switch g.predefined {
	case "":
		return !g.elsewhere && g.selects(gvk, ref.Namespace, ref.Name)
	case managedresource.NamespacedResources:
		return ref.Namespace != ""
	case managedresource.ClusterScopedResources:
		return ref.Namespace == "" && !isDefinition
	case managedresource.CRDs:
		return isDefinition
	}
	return false
}

func (g *deletionGroup) selects(gvk schema.GroupVersionKind, namespace, name string) bool {
	return slices.ContainsFunc(g.selections, func(s selection) bool { return s.selects(gvk, namespace, name) })
}

// assign gives every managed resource to the first group that takes it. Resources that no group takes are left alone.
func assign(groups []*deletionGroup, managed []managedresource.ManagedResourceStatus) {
	for _, m := range managed {
		if at := slices.IndexFunc(groups, func(g *deletionGroup) bool { return g.takes(m.Resource) }); at >= 0 {
			groups[at].members = append(groups[at].members, m)
		}
	}
}
