// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package removal

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// predefinedTypes are what predefined groups may be of.
var predefinedTypes = []managedresource.PredefinedResourceGroupType{
	managedresource.NamespacedResources, managedresource.ClusterScopedResources, managedresource.CRDs,
}

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

// deletionGroup is a deletion group with its managed resources.
type deletionGroup struct {
	managedresource.DeletionGroupDefinition
	selections []selection
	// byKind finds the same selections.
	byKind  map[schema.GroupVersionKind]*ofKind
	members []managedresource.ManagedResourceStatus
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

// isElsewhere reports whether the group is for another target.
func (g *deletionGroup) isElsewhere() bool {
	name := g.targetName()
	return name != nil && *name != ""
}

// takes reports whether a managed resource of a kind belongs to the group. Groups for other targets take none.
func (g *deletionGroup) takes(gvk schema.GroupVersionKind, ref managedresource.ResourceReference) bool {
	if g.PredefinedResourceGroup != nil {
		return takesPredefined(g.PredefinedResourceGroup.Type, gvk, ref)
	}
	if g.isElsewhere() {
		return false
	}
	selected := g.byKind[gvk]
	return selected != nil && selected.takes(ref.Namespace, ref.Name)
}

// add adds a selection to the group.
func (g *deletionGroup) add(one selection) {
	g.selections = append(g.selections, one)
	if g.byKind[one.gvk] == nil {
		g.byKind[one.gvk] = newOfKind()
	}
	g.byKind[one.gvk].add(one, 0)
}

func takesPredefined(kind managedresource.PredefinedResourceGroupType, gvk schema.GroupVersionKind, ref managedresource.ResourceReference) bool {
	isDefinition := gvk.GroupKind() == objects.CRDGroupKind
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
	group := &deletionGroup{DeletionGroupDefinition: definition, byKind: map[schema.GroupVersionKind]*ofKind{}}
	if definition.CustomResourceGroup == nil {
		return group, nil
	}
	for _, names := range definition.CustomResourceGroup.Resources {
		gvk, err := objects.KindNamed(ctx, cluster, names.APIVersion, names.Kind)
		if err != nil {
			return nil, err
		}
		group.add(selection{gvk: gvk, names: names})
	}
	return group, nil
}
