// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ManifestPolicy says what a deployer may do with an object.
type ManifestPolicy string

// Policies of manifests. The empty policy is ManagePolicy.
const (
	// ManagePolicy creates, updates and deletes the object.
	ManagePolicy ManifestPolicy = "manage"
	// FallbackPolicy creates the object, and updates and deletes it only while it carries the label of the DeployItem.
	FallbackPolicy ManifestPolicy = "fallback"
	// KeepPolicy creates and updates the object, and never deletes it.
	KeepPolicy ManifestPolicy = "keep"
	// IgnorePolicy does nothing and records nothing.
	IgnorePolicy ManifestPolicy = "ignore"
	// ImmutablePolicy creates and deletes the object, and never updates it.
	ImmutablePolicy ManifestPolicy = "immutable"
)

// UpdateStrategy says how an object that exists already is brought to its manifest.
type UpdateStrategy string

// Update strategies. The empty strategy is UpdateStrategyUpdate.
const (
	// UpdateStrategyUpdate replaces the object by the manifest.
	UpdateStrategyUpdate UpdateStrategy = "update"
	// UpdateStrategyPatch sends the difference between object and manifest as a JSON merge patch.
	UpdateStrategyPatch UpdateStrategy = "patch"
	// UpdateStrategyMerge adds values of the manifest where the object has none or an empty one.
	UpdateStrategyMerge UpdateStrategy = "merge"
	// UpdateStrategyMergeOverwrite merges deeply; values of the manifest win.
	UpdateStrategyMergeOverwrite UpdateStrategy = "mergeOverwrite"
	// UpdateStrategyApply applies the manifest by server-side apply, after a dry run of all manifests. Fields that leave the manifest leave the
	// object; fields that the manifest never had stay with those who wrote them. It is an addition to the API of Gardener Landscaper.
	UpdateStrategyApply UpdateStrategy = "apply"
)

// OnConflict says what a server-side apply does about fields that another field manager has set to another value.
type OnConflict string

// The empty OnConflict is OnConflictForce.
const (
	// OnConflictForce takes the fields over: the manifest wins, as in a Flux Kustomization.
	OnConflictForce OnConflict = "Force"
	// OnConflictFail changes nothing and names the fields and their managers.
	OnConflictFail OnConflict = "Fail"
)

// OnImmutable says what becomes of an object when the manifest changes a field of it that cannot be changed.
type OnImmutable string

// The empty OnImmutable is OnImmutableFail.
const (
	// OnImmutableFail leaves the object and names the field.
	OnImmutableFail OnImmutable = "Fail"
	// OnImmutableRecreate deletes the object and creates it anew. Objects that hold data, or take others with them, also need ForceAnnotation.
	OnImmutableRecreate OnImmutable = "Recreate"
)

// Manifest is one object, or one List of objects, to deploy.
type Manifest struct {
	// policy says what the deployer may do with the object; empty means manage.
	Policy ManifestPolicy `json:"policy,omitempty"`
	// manifest is the object. An object with an items list, such as kind List, stands for its items.
	Manifest *runtime.RawExtension `json:"manifest,omitempty"`
	// annotateBeforeCreate are annotations that the object gets when it is created.
	AnnotateBeforeCreate map[string]string `json:"annotateBeforeCreate,omitempty"`
	// annotateBeforeDelete are annotations that the object gets right before it is deleted.
	AnnotateBeforeDelete map[string]string `json:"annotateBeforeDelete,omitempty"`
	// patchAfterDeployment is merged into the object after readiness checks and exports succeeded.
	PatchAfterDeployment *runtime.RawExtension `json:"patchAfterDeployment,omitempty"`
	// patchBeforeDelete is merged into the object right before it is deleted.
	PatchBeforeDelete *runtime.RawExtension `json:"patchBeforeDelete,omitempty"`
}

// ResourceReference names one object on a target.
type ResourceReference struct {
	// apiVersion is group and version of the object.
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the object.
	Kind string `json:"kind,omitempty"`
	// name of the object.
	Name string `json:"name,omitempty"`
	// namespace of the object; empty for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	// uid of the object; empty in records of very old versions.
	UID types.UID `json:"uid,omitempty"`
}

// ManagedResourceStatus records one object that a DeployItem manages.
type ManagedResourceStatus struct {
	// policy of the manifest; empty means manage.
	Policy ManifestPolicy `json:"policy,omitempty"`
	// resource names the object.
	Resource ResourceReference `json:"resource"`
	// annotateBeforeDelete as in manifests.
	AnnotateBeforeDelete map[string]string `json:"annotateBeforeDelete,omitempty"`
	// patchBeforeDelete as in manifests.
	PatchBeforeDelete *runtime.RawExtension `json:"patchBeforeDelete,omitempty"`
	// digest of the manifest that was applied, for a Job that goes by itself once it has ended: it is not run again while its manifest is the same.
	Digest string `json:"digest,omitempty"`
}

// String returns kind, namespace and name for messages and for sorting.
func (r ResourceReference) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}
