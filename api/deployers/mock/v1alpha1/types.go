// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the configuration of DeployItems of type landscaper.gardener.cloud/mock.
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// APIVersion of the documents of this package.
const APIVersion = "mock.deployer.landscaper.gardener.cloud/v1alpha1"

// Kinds of the documents of this package.
const (
	// ProviderConfigurationKind is the kind of ProviderConfiguration.
	ProviderConfigurationKind = "ProviderConfiguration"
	// ConfigurationKind is the kind of Configuration.
	ConfigurationKind = "Configuration"
)

// ProviderConfiguration is spec.config of a mock DeployItem: it says how the job ends.
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// phase in which the job stays or ends; empty means Succeeded.
	Phase *landscaper.Phase `json:"phase,omitempty"`
	// initialPhase is the phase of a job that begins, where phase says nothing else.
	InitialPhase *landscaper.Phase `json:"initialPhase,omitempty"`
	// providerStatus becomes the provider status.
	ProviderStatus *landscaper.AnyJSON `json:"providerStatus,omitempty"`
	// export is a map that becomes the export.
	Export *landscaper.AnyJSON `json:"export,omitempty"`
	// continuousReconcile carries the DeployItem out again by the clock.
	ContinuousReconcile *managedresource.ContinuousReconcileSpec `json:"continuousReconcile,omitempty"`
}

// Configuration is the configuration file of the mock deployer.
type Configuration struct {
	metav1.TypeMeta                     `json:",inline"`
	managedresource.CommonConfiguration `json:",inline"`
}
