// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DataObject holds one value that flows between Installations.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=dataobjects,shortName=dobj;do,singular=dataobject,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Context",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/context']`
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/key']`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DataObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	// data is the value: any JSON. Default: null.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Data AnyJSON `json:"data"`
	// secretRef names a Secret of the same namespace, or one key of it, that holds the value as YAML in place of data. An addition to the API of
	// Gardener Landscaper.
	// +optional
	SecretReference *ValueReference `json:"secretRef,omitempty"`
}

// ValueReference names a Secret of the same namespace that holds a value.
type ValueReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key inside the Secret. Default: the whole Secret as one object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}

// DataObjectList is a list of DataObjects.
//
// +kubebuilder:object:root=true
type DataObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DataObject `json:"items"`
}
