// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TargetSyncSpec says which clusters that another cluster knows become Targets here.
type TargetSyncSpec struct {
	// sourceNamespace is the namespace on the source cluster.
	// +kubebuilder:validation:MaxLength=253
	SourceNamespace string `json:"sourceNamespace"`
	// secretRef names the Secret with the kubeconfig of the source cluster. An empty key means kubeconfig.
	SecretRef LocalSecretReference `json:"secretRef"`
	// createTargetToSource makes a Target for the source cluster itself.
	// +optional
	CreateTargetToSource bool `json:"createTargetToSource,omitempty"`
	// targetToSourceName is the name of that Target. Default: the value of sourceNamespace.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	TargetToSourceName string `json:"targetToSourceName,omitempty"`
	// secretNameExpression selects Secrets by name: a regular expression (RE2) of at most 2048 characters of ASCII, without \p and \x{, that matches anywhere in the
	// name, for example ^prod-. * is all, empty none. One that repeats much is refused.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	SecretNameExpression string `json:"secretNameExpression,omitempty"`
	// shootNameExpression selects Gardener Shoots by name in the same way; not beside secretNameExpression.
	// +kubebuilder:validation:MaxLength=2048
	// +optional
	ShootNameExpression string `json:"shootNameExpression,omitempty"`
	// tokenRotation renews the token in the Secret of secretRef.
	// +optional
	TokenRotation *TokenRotation `json:"tokenRotation,omitempty"`
	// suspend stops the sync, as in every Flux object; what it has made stays. An addition to the API of Gardener Landscaper.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// TokenRotation rotates a token.
type TokenRotation struct {
	// enabled renews the token every 60 days; a new one is valid for 90 days.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// TargetSyncStatus is what the controller observed.
type TargetSyncStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// observedGeneration is the generation last synced.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// lastUpdateTime is when the status was last written.
	// +optional
	LastUpdateTime metav1.Time `json:"lastUpdateTime,omitempty"`
	// lastErrors are the errors of the last sync.
	// +optional
	// +listType=atomic
	LastErrors []string `json:"lastErrors,omitempty"`
	// lastTokenRotationTime is when the token was last rotated.
	// +optional
	LastTokenRotationTime *metav1.Time `json:"lastTokenRotationTime,omitempty"`
	// lastHandledTokenRotation is the value of the annotation landscaper.gardener.cloud/rotate-token that was last answered. An addition to
	// the API of Gardener Landscaper.
	// +optional
	LastHandledTokenRotation string `json:"lastHandledTokenRotation,omitempty"`
	// conditions are Ready and, while true, Reconciling or Stalled, as kstatus reads them. An addition to the API of Gardener Landscaper.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// TargetSync makes Targets for the clusters that another cluster knows: from Secrets with kubeconfigs, or from Gardener Shoots. A namespace
// has one at most.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=targetsyncs,shortName=tgs,singular=targetsync,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type TargetSync struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec TargetSyncSpec `json:"spec"`
	// +optional
	Status TargetSyncStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions of the status.
func (t *TargetSync) GetConditions() []metav1.Condition {
	return t.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (t *TargetSync) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// TargetSyncList is a list of TargetSyncs.
//
// +kubebuilder:object:root=true
type TargetSyncList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TargetSync `json:"items"`
}
