// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ComponentVersionOverwrite replaces one component reference by another.
type ComponentVersionOverwrite struct {
	// source is matched against component references; absent fields match everything.
	Source ComponentVersionOverwriteReference `json:"source"`
	// substitution holds the fields to replace.
	Substitution ComponentVersionOverwriteReference `json:"substitution"`
}

// ComponentVersionOverwriteReference is a component reference, every part of it optional.
type ComponentVersionOverwriteReference struct {
	// repositoryContext is the typed repository.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	RepositoryContext *AnyJSON `json:"repositoryContext,omitempty"`
	// componentName of the component.
	// +kubebuilder:validation:MaxLength=255
	// +optional
	ComponentName string `json:"componentName,omitempty"`
	// version of the component.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	Version string `json:"version,omitempty"`
}

// ComponentVersionOverwrites replaces component references of the Installations whose Context names it.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=componentversionoverwrites,shortName=compveroverwrite;cvo,singular=componentversionoverwrite,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
type ComponentVersionOverwrites struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	// overwrites are tried in order.
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	// +listType=atomic
	Overwrites []ComponentVersionOverwrite `json:"overwrites,omitempty"`
}

// ComponentVersionOverwritesList is a list of ComponentVersionOverwrites.
//
// +kubebuilder:object:root=true
type ComponentVersionOverwritesList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ComponentVersionOverwrites `json:"items"`
}
