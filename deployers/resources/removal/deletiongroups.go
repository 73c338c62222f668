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
	gvk   schema.GroupVersionKind
	names managedresource.ResourceType
}

func (s selection) matches(ref managedresource.ResourceReference) bool {
	return s.gvk == objects.GVKOf(ref) && s.selects(ref.Namespace, ref.Name)
}

func (s selection) selects(namespace, name string) bool {
	return (len(s.names.Names) == 0 || slices.Contains(s.names.Names, name)) &&
		(len(s.names.Namespaces) == 0 || slices.Contains(s.names.Namespaces, namespace))
}

// deletionGroup is a deletion group with its managed resources.
type deletionGroup struct {
	managedresource.DeletionGroupDefinition
	selections []selection
	members    []managedresource.ManagedResourceStatus
}

func (g *deletionGroup) force() bool {
	if g.PredefinedResourceGroup != nil {
		return g.PredefinedResourceGroup.ForceDelete
	}
	return g.CustomResourceGroup.ForceDelete
}

func (g *deletionGroup) everything() bool {
	return g.CustomResourceGroup != nil && g.CustomResourceGroup.DeleteAllResources
}

func (g *deletionGroup) targetName() *string {
	if g.CustomResourceGroup == nil {
		return nil
	}
	return g.CustomResourceGroup.TargetName
}

// takes reports whether a managed resource belongs to the group. Groups for other targets take none.
func (g *deletionGroup) takes(ref managedresource.ResourceReference) bool {
	if g.PredefinedResourceGroup != nil {
		return takesPredefined(g.PredefinedResourceGroup.Type, ref)
	}
	if name := g.targetName(); name != nil && *name != "" {
		return false
	}
	return slices.ContainsFunc(g.selections, func(s selection) bool { return s.matches(ref) })
}

func takesPredefined(kind managedresource.PredefinedResourceGroupType, ref managedresource.ResourceReference) bool {
	isDefinition := objects.GVKOf(ref).GroupKind() == objects.CRDGroupKind
	switch kind {
	case managedresource.NamespacedResources:
		return ref.Namespace != ""
	case managedresource.ClusterScopedResources:
		return ref.Namespace == "" && !isDefinition
	case managedresource.CRDs:
		return isDefinition
	default:
		return false
	}
}

// newDeletionGroup resolves the kinds of a group on the target it is about.
func newDeletionGroup(ctx context.Context, cluster *target.Cluster, definition managedresource.DeletionGroupDefinition) (*deletionGroup, error) {
	group := &deletionGroup{DeletionGroupDefinition: definition}
	if definition.CustomResourceGroup == nil {
		return group, nil
	}
	for _, names := range definition.CustomResourceGroup.Resources {
		gvk, err := objects.KindNamed(ctx, cluster, names.APIVersion, names.Kind)
		if err != nil {
			return nil, err
		}
		group.selections = append(group.selections, selection{gvk: gvk, names: names})
	}
	return group, nil
}

// assign gives every managed resource to the first group that takes it. Resources that no group takes are left alone.
func assign(groups []*deletionGroup, managed []managedresource.ManagedResourceStatus) {
	for _, m := range managed {
		for _, group := range groups {
			if group.takes(m.Resource) {
				group.members = append(group.members, m)
				break
			}
		}
	}
}
