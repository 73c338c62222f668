// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TargetSpec describes something to deploy to: its content is in config or in a Secret, not in both.
type TargetSpec struct {
	// type of the target; landscaper.gardener.cloud/kubernetes-cluster is built in, any other string is allowed.
	// +kubebuilder:validation:MaxLength=1024
	Type string `json:"type"`
	// config is the content itself.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Configuration *AnyJSON `json:"config,omitempty"`
	// secretRef names the Secret with the content, in the Target's namespace.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
	// serviceAccountName names a ServiceAccount of the Target's namespace that deployers act as on the cluster. The credentials of the content
	// impersonate it and need the right to; a selfConfig that names no ServiceAccount means it. The name has no namespace.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// healthCheck makes the controller ask the cluster from time to time whether it answers, and show that in the status. Without it nothing is
	// sent and the status stays empty. Copies of the Target that Installations make have none. An addition to the API of Gardener Landscaper.
	// +optional
	HealthCheck *TargetHealthCheck `json:"healthCheck,omitempty"`
}

// TargetHealthCheck says how often to check whether a cluster answers.
//
// +kubebuilder:validation:XValidation:fieldPath=".interval",rule="duration(self.interval) >= duration('1m') && duration(self.interval) <= duration('24h')",message="has to be from 1m to 24h"
type TargetHealthCheck struct {
	// interval between two checks, from 1m to 24h. Checks that fail one after the other come more rarely: up to eight times the interval.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,5})?(ms|s|m|h)){1,4}$`
	Interval metav1.Duration `json:"interval"`
}

// TargetStatus is what the last check of spec.healthCheck has found out; without one it is empty.
type TargetStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// observedGeneration is the generation last checked.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// identity is the user that the cluster sees when somebody works through this Target. Empty while the Target is not Ready.
	// +optional
	Identity string `json:"identity,omitempty"`
	// version of the API server. Empty while the Target is not Ready, and where the server does not say it.
	// +optional
	Version string `json:"version,omitempty"`
	// lastChecked is when a check last found something else than the one before. One that finds the same writes nothing.
	// +optional
	LastChecked *metav1.Time `json:"lastChecked,omitempty"`
	// conditions are Ready and, while true, Reconciling or Stalled, as kstatus reads them.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Target is something to deploy to, usually a Kubernetes cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=targets,shortName=tgt;tg,singular=target,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Context",type=string,priority=1,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/context']`
// +kubebuilder:printcolumn:name="Key",type=string,priority=1,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/key']`
// +kubebuilder:printcolumn:name="Idx",type=string,priority=1,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/index']`
// +kubebuilder:printcolumn:name="TMKey",type=string,priority=1,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/targetmapkey']`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Target struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec TargetSpec `json:"spec,omitempty"`
	// +optional
	Status TargetStatus `json:"status,omitzero"`
}

// GetConditions returns the conditions of the status.
func (t *Target) GetConditions() []metav1.Condition {
	return t.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (t *Target) SetConditions(conditions []metav1.Condition) {
	t.Status.Conditions = conditions
}

// TargetList is a list of Targets.
//
// +kubebuilder:object:root=true
type TargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Target `json:"items"`
}

// OriginalName returns what a person calls a Target: the name of the original of a copy, and that of the export of an exported one.
func OriginalName(target metav1.Object) string {
	if name := target.GetAnnotations()[OriginalTargetAnnotation]; name != "" {
		return name
	}
	labels := target.GetLabels()
	if labels[DataObjectSourceTypeLabel] == DataObjectSourceExport && labels[DataObjectKeyLabel] != "" {
		return labels[DataObjectKeyLabel]
	}
	return target.GetName()
}
