// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha2 is the configuration and the status of DeployItems of type landscaper.gardener.cloud/kubernetes-manifest
// (spec/deployers.md §8).
package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// APIVersion is group and version of the kinds of this package.
const APIVersion = "manifest.deployer.landscaper.gardener.cloud/v1alpha2"

// Kinds of this package.
const (
	// ProviderConfigurationKind is the kind of ProviderConfiguration.
	ProviderConfigurationKind = "ProviderConfiguration"
	// ProviderStatusKind is the kind of ProviderStatus.
	ProviderStatusKind = "ProviderStatus"
	// ConfigurationKind is the kind of Configuration.
	ConfigurationKind = "Configuration"
)

// ProviderConfiguration is spec.config of a DeployItem.
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// updateStrategy for objects that exist already: update, patch, merge, mergeOverwrite or apply. Empty means update.
	UpdateStrategy managedresource.UpdateStrategy `json:"updateStrategy,omitempty"`
	// onConflict says what strategy apply does about fields that another field manager has set, Force or Fail; empty means Force. It is an
	// addition to the API of Gardener Landscaper.
	OnConflict managedresource.OnConflict `json:"onConflict,omitempty"`
	// onImmutable says what becomes of an object when a field is changed that cannot be changed, Fail or Recreate; empty means Fail. It is an
	// addition to the API of Gardener Landscaper.
	OnImmutable managedresource.OnImmutable `json:"onImmutable,omitempty"`
	// readinessChecks say when the objects are ready.
	ReadinessChecks managedresource.ReadinessCheckConfiguration `json:"readinessChecks,omitempty"`
	// manifests are the objects to deploy.
	Manifests []managedresource.Manifest `json:"manifests,omitempty"`
	// exports are read from objects after they are ready.
	Exports *managedresource.Exports `json:"exports,omitempty"`
	// continuousReconcile carries the DeployItem out again by the clock.
	ContinuousReconcile *managedresource.ContinuousReconcileSpec `json:"continuousReconcile,omitempty"`
	// driftDetection says what happens when somebody changes or deletes deployed objects. It is an addition to the API of Gardener Landscaper, as in
	// a HelmRelease.
	DriftDetection *managedresource.DriftDetection `json:"driftDetection,omitempty"`
	// deletionGroups are the steps of the deletion of the DeployItem.
	DeletionGroups []managedresource.DeletionGroupDefinition `json:"deletionGroups,omitempty"`
	// deletionGroupsDuringUpdate are the steps of the deletion of objects that left the manifests.
	DeletionGroupsDuringUpdate []managedresource.DeletionGroupDefinition `json:"deletionGroupsDuringUpdate,omitempty"`
}

// ProviderStatus is status.providerStatus of a DeployItem.
type ProviderStatus struct {
	metav1.TypeMeta `json:",inline"`
	// managedResources are the objects on the target that belong to the DeployItem.
	ManagedResources []managedresource.ManagedResourceStatus `json:"managedResources,omitempty"`
	// recordedGeneration is the generation of the DeployItem whose objects managedResources records. It is an addition to the
	// API of Gardener Landscaper and absent in statuses of other implementations.
	RecordedGeneration int64 `json:"recordedGeneration,omitempty"`
	// inventory says where the objects are, and what is left elsewhere. It is an addition to the API of Gardener Landscaper and absent in statuses of
	// other implementations.
	Inventory *managedresource.Inventory `json:"inventory,omitempty"`
}

// Configuration is the configuration file of the manifest deployer.
type Configuration struct {
	metav1.TypeMeta                     `json:",inline"`
	managedresource.CommonConfiguration `json:",inline"`
	// export is accepted and ignored: the timeout of the DeployItem governs.
	Export *v1alpha1.AnyJSON `json:"export,omitempty"`
}
