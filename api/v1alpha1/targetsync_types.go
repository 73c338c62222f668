// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TargetSyncSpec says which Secrets of another cluster become Targets here.
type TargetSyncSpec struct {
	// SourceNamespace on the source cluster.
	SourceNamespace string `json:"sourceNamespace"`
	// SecretRef names the Secret with the kubeconfig of the source cluster.
	SecretRef LocalSecretReference `json:"secretRef"`
	// CreateTargetToSource makes a Target for the source cluster itself.
	// +optional
	CreateTargetToSource bool `json:"createTargetToSource,omitempty"`
	// TargetToSourceName is the name of that Target; SourceNamespace when empty.
	// +optional
	TargetToSourceName string `json:"targetToSourceName,omitempty"`
	// SecretNameExpression selects Secrets by name (RE2); * is all, empty none.
	// +optional
	SecretNameExpression string `json:"secretNameExpression,omitempty"`
	// ShootNameExpression selects Gardener Shoots by name (RE2); excludes SecretNameExpression.
	// +optional
	ShootNameExpression string `json:"shootNameExpression,omitempty"`
	// TokenRotation rotates the token inside SecretRef.
	// +optional
	TokenRotation *TokenRotation `json:"tokenRotation,omitempty"`
}

// TokenRotation rotates a token.
type TokenRotation struct {
	// Enabled switches the rotation on.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// TargetSyncStatus is what the controller observed.
type TargetSyncStatus struct {
	// ObservedGeneration is the generation last synced.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastUpdateTime is when the status was last written.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// LastErrors are the errors of the last sync.
	// +optional
	LastErrors []string `json:"lastErrors,omitempty"`
	// LastTokenRotationTime is when the token was last rotated.
	// +optional
	LastTokenRotationTime *metav1.Time `json:"lastTokenRotationTime,omitempty"`
}

// TargetSync makes Targets from Secrets of another cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=targetsyncs,shortName=tgs,singular=targetsync
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
type TargetSync struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec TargetSyncSpec `json:"spec"`
	// +optional
	Status TargetSyncStatus `json:"status,omitempty"`
}

// TargetSyncList is a list of TargetSyncs.
//
// +kubebuilder:object:root=true
type TargetSyncList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TargetSync `json:"items"`
}
