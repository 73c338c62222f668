// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EnvironmentSpec describes a cluster that deployers are installed into.
type EnvironmentSpec struct {
	// hostTarget is the template of the Target of that cluster.
	HostTarget TargetTemplate `json:"hostTarget"`
	// namespace of the host cluster for the deployers.
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace"`
	// landscaperClusterConfig says how the environment reaches the landscaper cluster.
	LandscaperClusterRestConfig ClusterRestConfig `json:"landscaperClusterConfig"`
	// targetSelectors are handed to the deployers of this environment.
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	// +listType=atomic
	TargetSelectors []TargetSelector `json:"targetSelectors,omitempty"`
	// namespaces of the landscaper cluster in which the deployers of this environment may work. Absent is all, as in the API of Gardener Landscaper,
	// or all that the namespace of the Environment allows; an empty list is none. An addition to the API of Gardener Landscaper.
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:MaxItems=1000
	// +listType=set
	// +optional
	Namespaces []string `json:"namespaces,omitzero"`
}

// EnvironmentStatus is what the controller observed. The agent never writes it.
type EnvironmentStatus struct {
	meta.ReconcileRequestStatus `json:",inline"`

	// observedGeneration is the generation last reconciled.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions are Ready and, while true, Reconciling or Stalled, as kstatus reads them, and AgentConnected.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// namespace of the landscaper cluster that holds what is made for the deployers of this environment, and the Lease of the agent. An
	// addition to the API of Gardener Landscaper.
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// agentVersion is the version of the agent, as it wrote it into its Lease.
	// +optional
	AgentVersion string `json:"agentVersion,omitempty"`
	// agentLastSeen is when the agent last gave a sign of life, by the clock of the controller. It is written only together with a change of
	// the condition AgentConnected.
	// +optional
	AgentLastSeen *metav1.Time `json:"agentLastSeen,omitempty"`
	// deployers are those that registrations install here, by name, 200 at most.
	// +optional
	// +listType=atomic
	Deployers []EnvironmentDeployer `json:"deployers,omitempty"`
}

// EnvironmentDeployer is a deployer of an environment.
type EnvironmentDeployer struct {
	// name of its DeployerRegistration.
	Name string `json:"name"`
	// version of its component, where a repository has it.
	// +optional
	Version string `json:"version,omitempty"`
	// ready says whether the last job of its Installation succeeded.
	Ready bool `json:"ready"`
	// message says why there can be no Installation, or why it can never succeed; empty otherwise.
	// +optional
	Message string `json:"message,omitempty"`
}

// TargetTemplate is the template of a Target.
type TargetTemplate struct {
	TargetSpec `json:",inline"`
	// labels of the Target.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// annotations of the Target.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ClusterRestConfig says how to reach an API server.
type ClusterRestConfig struct {
	// host is the URL of the API server.
	// +kubebuilder:validation:MaxLength=4096
	Host string `json:"host"`
	// apiPath is a prefix of all paths.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	APIPath string `json:"apiPath,omitempty"`
	// insecure skips the verification of the server's certificate.
	// +optional
	Insecure bool `json:"insecure,omitempty"`
	// serverName is the name to expect in the server's certificate.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	ServerName string `json:"serverName,omitempty"`
	// caData is the PEM of the CA, base64 in YAML; it may be an empty text.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9+/=\r\n]*$`
	// +optional
	CAData []byte `json:"caData,omitempty"`
	// nextProtos lists the application protocols to offer.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	// +listType=atomic
	NextProtos []string `json:"nextProtos,omitempty"`
	// proxyURL is the proxy that leads there, without a login. An addition to the API of Gardener Landscaper.
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^((http|https|socks5)://[^@]+)?$`
	// +optional
	ProxyURL string `json:"proxyURL,omitempty"`
}

// Environment is a cluster that deployers are installed into.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=environments,shortName=env,singular=environment,scope=Cluster,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.status.conditions[?(@.type=="AgentConnected")].status`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.agentVersion`
type Environment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec EnvironmentSpec `json:"spec"`
	// +optional
	Status EnvironmentStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions of the status.
func (e *Environment) GetConditions() []metav1.Condition {
	return e.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (e *Environment) SetConditions(conditions []metav1.Condition) {
	e.Status.Conditions = conditions
}

// EnvironmentList is a list of Environments.
//
// +kubebuilder:object:root=true
type EnvironmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Environment `json:"items"`
}
