// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

// PredefinedResourceGroupType names a built-in deletion group.
type PredefinedResourceGroupType string

// Built-in deletion groups.
const (
	// NamespacedResources are all objects that live in a namespace.
	NamespacedResources PredefinedResourceGroupType = "namespaced-resources"
	// ClusterScopedResources are all cluster-scoped objects but CustomResourceDefinitions.
	ClusterScopedResources PredefinedResourceGroupType = "cluster-scoped-resources"
	// CRDs are CustomResourceDefinitions.
	CRDs PredefinedResourceGroupType = "crds"
	// Empty is nothing. As the only group it switches deletion off.
	Empty PredefinedResourceGroupType = "empty"
)

// DeletionGroupDefinition is one step of a deletion; exactly one of its fields is set. A resource belongs to the first group
// that it matches; a resource that matches no group stays.
type DeletionGroupDefinition struct {
	// predefinedResourceGroup is a built-in group.
	PredefinedResourceGroup *PredefinedResourceGroup `json:"predefinedResourceGroup,omitempty"`
	// customResourceGroup selects resources by kind, name and namespace.
	CustomResourceGroup *CustomResourceGroup `json:"customResourceGroup,omitempty"`
}

// PredefinedResourceGroup is a built-in deletion group.
type PredefinedResourceGroup struct {
	// type of the group.
	Type PredefinedResourceGroupType `json:"type"`
	// forceDelete removes the finalizers after the delete request.
	ForceDelete bool `json:"forceDelete,omitempty"`
}

// CustomResourceGroup is a deletion group that selects resources.
type CustomResourceGroup struct {
	// resources lists what belongs to the group; one entry has to match.
	Resources []ResourceType `json:"resources"`
	// forceDelete removes the finalizers after the delete request.
	ForceDelete bool `json:"forceDelete,omitempty"`
	// deleteAllResources deletes every matching object of the cluster, not only the managed ones.
	DeleteAllResources bool `json:"deleteAllResources,omitempty"`
	// targetName names another Target to delete on; it requires deleteAllResources.
	TargetName *string `json:"targetName,omitempty"`
}

// ResourceType selects objects of one kind.
type ResourceType struct {
	// apiVersion is group and version of the objects.
	APIVersion string `json:"apiVersion"`
	// kind of the objects; the plural resource name is accepted too.
	Kind string `json:"kind"`
	// names of the objects; empty means any.
	Names []string `json:"names,omitempty"`
	// namespaces of the objects; empty means any.
	Namespaces []string `json:"namespaces,omitempty"`
}
