// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TargetSpec describes something to deploy to: its content is in Configuration or in a Secret, not in both.
type TargetSpec struct {
	// Type of the target; landscaper.gardener.cloud/kubernetes-cluster is built in, any other string is allowed.
	Type string `json:"type"`
	// Configuration is the content itself.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Configuration *AnyJSON `json:"config,omitempty"`
	// SecretRef names the Secret with the content, in the Target's namespace.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
	// ServiceAccountName names a ServiceAccount of the Target's namespace that deployers act as on the cluster. The credentials of the content
	// impersonate it and need the right to; a selfConfig that names no ServiceAccount means it. The name has no namespace.
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// Target is something to deploy to, usually a Kubernetes cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=targets,shortName=tgt;tg,singular=target
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Context",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/context']`
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/key']`
// +kubebuilder:printcolumn:name="Idx",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/index']`
// +kubebuilder:printcolumn:name="TMKey",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/targetmapkey']`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Target struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec TargetSpec `json:"spec,omitempty"`
}

// TargetList is a list of Targets.
//
// +kubebuilder:object:root=true
type TargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Target `json:"items"`
}
