// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EnvironmentSpec describes a cluster that deployers are installed into.
type EnvironmentSpec struct {
	// HostTarget is the template of the Target of that cluster.
	HostTarget TargetTemplate `json:"hostTarget"`
	// Namespace of the host cluster for the deployers.
	Namespace string `json:"namespace"`
	// LandscaperClusterRestConfig says how the environment reaches the landscaper cluster.
	LandscaperClusterRestConfig ClusterRestConfig `json:"landscaperClusterConfig"`
	// TargetSelectors are handed to the deployers of this environment.
	// +optional
	TargetSelectors []TargetSelector `json:"targetSelectors,omitempty"`
}

// TargetTemplate is the template of a Target.
type TargetTemplate struct {
	TargetSpec `json:",inline"`
	// Labels of the Target.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations of the Target.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ClusterRestConfig says how to reach an API server.
type ClusterRestConfig struct {
	// Host is the URL of the API server.
	Host string `json:"host"`
	// APIPath is a prefix of all paths.
	// +optional
	APIPath string `json:"apiPath,omitempty"`
	// Insecure skips the verification of the server's certificate.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
	// ServerName is the name to expect in the server's certificate.
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// CAData is the PEM of the CA, base64 in YAML; it may be an empty text.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9+/=\r\n]*$`
	// +optional
	CAData []byte `json:"caData,omitempty"`
	// NextProtos lists the application protocols to offer.
	// +optional
	NextProtos []string `json:"nextProtos,omitempty"`
}

// Environment is a cluster that deployers are installed into.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=environments,shortName=env,singular=environment,scope=Cluster
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Environment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec EnvironmentSpec `json:"spec"`
}

// EnvironmentList is a list of Environments.
//
// +kubebuilder:object:root=true
type EnvironmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Environment `json:"items"`
}
