// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeployerRegistrationSpec describes how to install one deployer.
type DeployerRegistrationSpec struct {
	// types are the types that the deployer carries out.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=1024
	// +optional
	// +listType=atomic
	DeployItemTypes []string `json:"types,omitempty"`
	// installationTemplate is the template of the Installation in each environment.
	InstallationTemplate DeployerInstallationTemplate `json:"installationTemplate"`
}

// DeployerInstallationTemplate is the part of an Installation that a registration sets.
type DeployerInstallationTemplate struct {
	// componentDescriptor says where the component comes from.
	// +optional
	ComponentDescriptor *ComponentDescriptorDefinition `json:"componentDescriptor,omitempty"`
	// blueprint says where the blueprint comes from.
	Blueprint BlueprintDefinition `json:"blueprint"`
	// imports connect data and targets to the blueprint's imports.
	// +optional
	Imports InstallationImports `json:"imports,omitempty"`
	// importDataMappings computes blueprint imports.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	ImportDataMappings map[string]AnyJSON `json:"importDataMappings,omitempty"`
}

// DeployerRegistrationStatus is what the controller observed.
type DeployerRegistrationStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// lastError is what went wrong last.
	// +optional
	LastError *Error `json:"lastError,omitempty"`
	// observedGeneration is the generation last reconciled. An addition to the API of Gardener Landscaper.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and, while true, Reconciling or Stalled, as kstatus reads them. An addition to the API of Gardener Landscaper.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// totalEnvironments is how many Environments the deployer belongs into. An addition to the API of Gardener Landscaper.
	// +optional
	TotalEnvironments int32 `json:"totalEnvironments,omitempty"`
	// readyEnvironments is in how many of them it is ready. An addition to the API of Gardener Landscaper.
	// +optional
	ReadyEnvironments int32 `json:"readyEnvironments,omitempty"`
	// environments are some of them, 10 at most: by name, and those where the deployer is not ready first. How far it is in any other one says its
	// Installation there. An addition to the API of Gardener Landscaper.
	// +optional
	// +listType=atomic
	Environments []RegistrationEnvironment `json:"environments,omitempty"`
}

// RegistrationEnvironment is an environment that a deployer is installed into.
type RegistrationEnvironment struct {
	// name of the Environment.
	Name string `json:"name"`
	// installation is its name in the namespace of the deployer management, empty where there is none.
	// +optional
	Installation string `json:"installation,omitempty"`
	// ready says whether the last job of the Installation succeeded.
	Ready bool `json:"ready"`
	// message says what is missing where it is not.
	// +optional
	Message string `json:"message,omitempty"`
}

// DeployerRegistration installs one deployer into every Environment.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=deployerregistrations,shortName=deployreg;deployerreg;dreg,singular=deployerregistration,scope=Cluster,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.installationTemplate.componentDescriptor.ref.version`
type DeployerRegistration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec DeployerRegistrationSpec `json:"spec"`
	// +optional
	Status DeployerRegistrationStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions of the status.
func (d *DeployerRegistration) GetConditions() []metav1.Condition {
	return d.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (d *DeployerRegistration) SetConditions(conditions []metav1.Condition) {
	d.Status.Conditions = conditions
}

// DeployerRegistrationList is a list of DeployerRegistrations.
//
// +kubebuilder:object:root=true
type DeployerRegistrationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeployerRegistration `json:"items"`
}
