// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HelmChartRepoCredentialsKey is the key of Context.Configurations that the helm deployer reads.
const HelmChartRepoCredentialsKey = "helmChartRepoCredentials" // #nosec G101 -- the name of a key

// Context holds what the Installations of a namespace share: repositories, credentials and settings. It has no spec: all fields are at
// the top level.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=contexts,shortName=ctx,singular=context,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Context struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	ContextConfiguration `json:",inline"`
}

// ContextConfiguration is the content of a Context.
type ContextConfiguration struct {
	// repositoryContext is the repository of component descriptors where an Installation names none, for example
	// {type: ociRegistry, baseUrl: registry.example.com/components}.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	RepositoryContext *AnyJSON `json:"repositoryContext,omitempty"`
	// ocmConfig names a ConfigMap whose key .ocmconfig holds an OCM configuration.
	// +optional
	OCMConfig *LocalObjectReference `json:"ocmConfig,omitempty"`
	// registryPullSecrets name Secrets with registry credentials.
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	// +listType=atomic
	RegistryPullSecrets []LocalObjectReference `json:"registryPullSecrets,omitempty"`
	// registryIdentity logs in at the registries of a cloud where no pull secret does. An addition to the API of Gardener Landscaper.
	// +optional
	RegistryIdentity *RegistryIdentity `json:"registryIdentity,omitempty"`
	// configurations is a free map, read by deployers.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Configurations map[string]AnyJSON `json:"configurations,omitempty"`
	// componentVersionOverwrites names a ComponentVersionOverwrites object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ComponentVersionOverwritesReference string `json:"componentVersionOverwrites,omitempty"`
	// verificationSignatures maps signature names to their keys.
	// +kubebuilder:validation:MaxProperties=1000
	// +optional
	VerificationSignatures map[string]VerificationSignature `json:"verificationSignatures,omitempty"`
	// requireVerifiedSources refuses Flux sources whose signature Flux itself has not verified: they need spec.verify and the condition
	// SourceVerified. An addition to the API of Gardener Landscaper.
	// +optional
	RequireVerifiedSources bool `json:"requireVerifiedSources,omitempty"`
	// blueprintAccess says what blueprints of Installations with this Context may use: imports or namespace. Without it the operator decides by
	// --default-blueprint-access. An addition to the API of Gardener Landscaper.
	// +optional
	BlueprintAccess BlueprintAccess `json:"blueprintAccess,omitempty"`
	// reconcileIfChanged says whether changes start the jobs of Installations with this Context that have no annotation
	// landscaper.gardener.cloud/reconcile-if-changed. Without it the label of that name of the namespace decides, and then the operator by
	// --reconcile-if-changed. An addition to the API of Gardener Landscaper.
	// +optional
	ReconcileIfChanged *bool `json:"reconcileIfChanged,omitempty"`
}

// BlueprintAccess says what a blueprint may use of the namespace of its Installation.
//
// +kubebuilder:validation:Enum=imports;namespace
type BlueprintAccess string

const (
	// BlueprintAccessImports gives a blueprint what the root Installation imports, and nothing else.
	BlueprintAccessImports BlueprintAccess = "imports"
	// BlueprintAccessNamespace gives a blueprint everything in the namespace that a user of it may name in a field.
	BlueprintAccessNamespace BlueprintAccess = "namespace"
)

// RegistryIdentity is a party that a cloud knows.
type RegistryIdentity struct {
	// provider is the cloud: aws, azure or gcp.
	// +kubebuilder:validation:Enum=aws;azure;gcp
	Provider string `json:"provider"`
	// serviceAccountName names a ServiceAccount of the namespace that logs in with a token of its own, as its annotations for the cloud say. Empty
	// means the identity of the controller, where the operator allows that.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// VerificationSignature names the keys of one signature.
type VerificationSignature struct {
	// publicKeySecretReference names the public key.
	// +optional
	PublicKeySecretReference *SecretReference `json:"publicKeySecretReference,omitempty"`
	// caCertificateSecretReference names the CA certificates.
	// +optional
	CaCertificateSecretReference *SecretReference `json:"caCertificateSecretReference,omitempty"`
}

// ContextList is a list of Contexts.
//
// +kubebuilder:object:root=true
type ContextList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Context `json:"items"`
}
