// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds configuration and status of DeployItems of type landscaper.gardener.cloud/container.
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	landscaper "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// APIVersion of the documents of this package.
const APIVersion = "container.deployer.landscaper.gardener.cloud/v1alpha1"

// Kinds of the documents of this package.
const (
	// ProviderConfigurationKind is the kind of ProviderConfiguration.
	ProviderConfigurationKind = "ProviderConfiguration"
	// ProviderStatusKind is the kind of ProviderStatus.
	ProviderStatusKind = "ProviderStatus"
	// ConfigurationKind is the kind of Configuration.
	ConfigurationKind = "Configuration"
)

// OperationType is what a container is started for; it sees it in the environment variable OPERATION.
type OperationType string

// Operations of a container.
const (
	// OperationReconcile deploys.
	OperationReconcile OperationType = "RECONCILE"
	// OperationDelete uninstalls.
	OperationDelete OperationType = "DELETE"
)

// Defaults of a deployer without configuration file.
const (
	// DefaultNamespace of the Pods on the host cluster.
	DefaultNamespace = "default"
	// DefaultImage of containers that name none.
	DefaultImage = "ubuntu:18.04"
	// DefaultGarbageCollectionWorkers is GarbageCollection.Worker.
	DefaultGarbageCollectionWorkers = 5
	// DefaultGarbageCollectionSeconds is GarbageCollection.RequeueTimeSeconds.
	DefaultGarbageCollectionSeconds = 3600
)

// ProviderConfiguration is spec.config of a container DeployItem.
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`
	// image of the container; empty means the default of the deployer.
	Image string `json:"image,omitempty"`
	// command of the container.
	Command []string `json:"command,omitempty"`
	// args of the container.
	Args []string `json:"args,omitempty"`
	// importValues is what the container finds at IMPORTS_PATH.
	ImportValues *landscaper.AnyJSON `json:"importValues,omitempty"`
	// blueprint whose files the container finds at CONTENT_PATH.
	Blueprint *landscaper.BlueprintDefinition `json:"blueprint,omitempty"`
	// componentDescriptor that the container finds at COMPONENT_DESCRIPTOR_PATH.
	ComponentDescriptor *landscaper.ComponentDescriptorDefinition `json:"componentDescriptor,omitempty"`
	// registryPullSecrets name Secrets with registry credentials, beside those of the Context.
	RegistryPullSecrets []landscaper.ObjectReference `json:"registryPullSecrets,omitempty"`
	// continuousReconcile carries the DeployItem out again by the clock.
	ContinuousReconcile *managedresource.ContinuousReconcileSpec `json:"continuousReconcile,omitempty"`
}

// ProviderStatus is status.providerStatus of a container DeployItem.
type ProviderStatus struct {
	metav1.TypeMeta `json:",inline"`
	// lastOperation is what the container was last started for.
	LastOperation OperationType `json:"lastOperation"`
	// podStatus is the state of the last Pod.
	PodStatus *PodStatus `json:"podStatus,omitempty"`
}

// PodStatus is the state of a Pod.
type PodStatus struct {
	// podName is its name on the host cluster.
	PodName string `json:"podName"`
	// lastRun is when it was started.
	LastRun *metav1.Time `json:"lastRun,omitempty"`
	// lastSuccessfulJobID is the last job whose container ended well.
	LastSuccessfulJobID *string `json:"lastSuccessfulJobID,omitempty"`
	// containerStatus is the state of the user's container.
	ContainerStatus ContainerStatus `json:"containerStatus"`
	// initContainerStatus is the state of the container that prepares the files.
	InitContainerStatus ContainerStatus `json:"initContainerStatus"`
	// waitContainerStatus is the state of the container that stores state and exports.
	WaitContainerStatus ContainerStatus `json:"waitContainerStatus"`
}

// ContainerStatus is the state of a container.
type ContainerStatus struct {
	// message for a person.
	Message string `json:"message,omitempty"`
	// reason in one word.
	Reason string `json:"reason,omitempty"`
	// state is waiting, running or terminated.
	State corev1.ContainerState `json:"state,omitempty"`
	// image as configured.
	Image string `json:"image"`
	// imageID is the image with its digest.
	ImageID string `json:"imageID"`
	// exitCode of an ended container.
	ExitCode *int32 `json:"exitCode,omitempty"`
}

// Configuration is the configuration file of the container deployer.
type Configuration struct {
	metav1.TypeMeta                     `json:",inline"`
	managedresource.CommonConfiguration `json:",inline"`
	// namespace of the Pods on the host cluster; empty means DefaultNamespace.
	Namespace string `json:"namespace,omitempty"`
	// oci holds settings of the access to OCI registries.
	OCI *managedresource.OCIConfiguration `json:"oci,omitempty"`
	// initContainer is the container that prepares the files.
	InitContainer ContainerSpec `json:"initContainer,omitempty"`
	// waitContainer is the container that stores state and exports.
	WaitContainer ContainerSpec `json:"waitContainer,omitempty"`
	// defaultImage is used where a DeployItem names no image.
	DefaultImage ContainerSpec `json:"defaultImage,omitempty"`
	// garbageCollection of what DeployItems that are gone left on the host cluster.
	GarbageCollection GarbageCollection `json:"garbageCollection,omitempty"`
	// debug holds settings for developers.
	DebugOptions *DebugOptions `json:"debug,omitempty"`
}

// ContainerSpec is an image and how to run it.
type ContainerSpec struct {
	// image of the container.
	Image string `json:"image,omitempty"`
	// command of the container.
	Command []string `json:"command,omitempty"`
	// args of the container.
	Args []string `json:"args,omitempty"`
	// imagePullPolicy as Kubernetes knows it.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
}

// GarbageCollection says how to remove what is left over on the host cluster.
type GarbageCollection struct {
	// disable switches it off.
	Disable bool `json:"disable,omitempty"`
	// worker is how many objects are handled at a time; 0 means DefaultGarbageCollectionWorkers.
	Worker int `json:"worker,omitempty"`
	// requeueTimeSeconds is the time between two passes; 0 means DefaultGarbageCollectionSeconds.
	RequeueTimeSeconds int `json:"requeueTimeSeconds,omitempty"`
}

// DebugOptions are for developers.
type DebugOptions struct {
	// keepPod leaves Pods that have ended in place.
	KeepPod bool `json:"keepPod,omitempty"`
}
