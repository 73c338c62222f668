// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefaultDeployItemTimeout is the progress timeout of DeployItems that set none.
const DefaultDeployItemTimeout = 10 * time.Minute

// DeployItemSpec is one piece of work for a deployer.
type DeployItemSpec struct {
	// type selects the deployer.
	// +kubebuilder:validation:MaxLength=1024
	Type string `json:"type"`
	// context names the Context in the same namespace; empty means "default".
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Context string `json:"context,omitempty"`
	// target to deploy to, always in the DeployItem's namespace.
	// +optional
	Target *DeployItemTarget `json:"target,omitempty"`
	// config for the deployer.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Configuration *runtime.RawExtension `json:"config,omitempty"`
	// timeout of the work; 10m when unset, none for no limit.
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`
	// updateOnChangeOnly skips the work when nothing changed since the last success.
	// +optional
	UpdateOnChangeOnly bool `json:"updateOnChangeOnly,omitempty"`
	// onDelete says how to delete.
	// +optional
	OnDelete *OnDeleteConfig `json:"onDelete,omitempty"`
	// serviceAccountName names a ServiceAccount of the DeployItem's namespace that the deployer acts as on the Targets of the item; it goes before
	// the one that a Target names. The name has no namespace.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// DeployItemTarget names the Target of a DeployItem.
type DeployItemTarget struct {
	// name of the Target.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// namespace is accepted; the Target is always read from the DeployItem's namespace.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// DeployerInformation says who handled a DeployItem.
type DeployerInformation struct {
	// identity of the deployer's process.
	Identity string `json:"identity"`
	// name of the deployer.
	Name string `json:"name"`
	// version of the deployer.
	Version string `json:"version"`
	// type is what spec.type was. While spec.type is another one no deployer does anything for the item: what was deployed is known to those of this
	// type. An addition to the API of Gardener Landscaper.
	// +optional
	Type string `json:"type,omitempty"`
}

// DriftedCondition, on DeployItems, is True where deployed objects are not as the last job left them, False after a correction, and Unknown
// where that cannot be watched. It is absent where nothing is to be said. On Executions and Installations it is True where it is True below.
const DriftedCondition = "Drifted"

// UnknownKeysCondition, on Installations and DeployItems, is True where blueprint or configuration have keys without effect.
const UnknownKeysCondition = "UnknownKeys"

// RecordLostCondition, on DeployItems, is True where somebody has removed the status, which is the record of what is deployed: from the start of the next
// job until one succeeds. Meanwhile the deployer looks on the target for what carries the marks of the item.
const RecordLostCondition = "RecordLost"

// DeployItemStatus is written by the Execution controller (jobID) and by the deployer (everything else).
type DeployItemStatus struct {
	// observedGeneration is the generation of the spec that the deployer last began with.
	ObservedGeneration int64 `json:"observedGeneration"`

	JobStatus `json:",inline"`

	// jobIDGenerationTime is when jobID was set; the pickup timeout counts from here.
	// +optional
	JobIDGenerationTime *metav1.Time `json:"jobIDGenerationTime,omitempty"`
	// lastReconcileTime is when the deployer began the job.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`
	// deployer says who handled the item.
	// +structType=atomic
	// +optional
	Deployer *DeployerInformation `json:"deployer,omitempty"`
	// firstError is the first error of the job.
	// +optional
	FirstError *Error `json:"firstError,omitempty"`
	// lastErrors are up to five errors of the job, the newest last.
	// +optional
	// +listType=atomic
	LastErrors []*Error `json:"lastErrors,omitempty"`
	// providerStatus belongs to the deployer.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +structType=atomic
	// +optional
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`
	// sources are the states of the Flux sources that the last job used; of one that ended before it came to them, those that it found. An
	// addition to the API of Gardener Landscaper.
	// +optional
	// +listType=atomic
	Sources []SourceStatus `json:"sources,omitempty"`
	// exportRef names the Secret with the exports under the key "config".
	// +optional
	ExportReference *ObjectReference `json:"exportRef,omitempty"`
	// targetGoneSince is since when a deletion with spec.onDelete.targetGone has found the clusters gone; absent while one is not. An addition to
	// the API of Gardener Landscaper.
	// +optional
	TargetGoneSince *metav1.Time `json:"targetGoneSince,omitempty"`
	// deployItemPhase is accepted for old deployers and ignored.
	// +optional
	DeployItemPhase string `json:"deployItemPhase,omitempty"`
}

// DeployItem is one piece of work for a deployer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=deployitems,shortName=di,singular=deployitem,categories=landscaper
// +kubebuilder:selectablefield:JSONPath=`.spec.type`
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Target",type=string,JSONPath=`.metadata.annotations['landscaper\.gardener\.cloud\/original-target']`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Phase",type=string,priority=1,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="TargetRef",type=string,priority=1,JSONPath=`.spec.target.name`
// +kubebuilder:printcolumn:name="Deployer",type=string,priority=1,JSONPath=`.status.deployer.identity`
// +kubebuilder:printcolumn:name="ExportRef",type=string,priority=1,JSONPath=`.status.exportRef.name`
type DeployItem struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec DeployItemSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	// +optional
	Status DeployItemStatus `json:"status,omitempty"`
}

// DeployItemList is a list of DeployItems.
//
// +kubebuilder:object:root=true
type DeployItemList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeployItem `json:"items"`
}

// GetConditions returns the conditions of the status.
func (d *DeployItem) GetConditions() []metav1.Condition {
	return d.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (d *DeployItem) SetConditions(conditions []metav1.Condition) {
	d.Status.Conditions = conditions
}

// Job returns the part of the status that carries the job protocol.
func (d *DeployItem) Job() *JobStatus {
	return &d.Status.JobStatus
}

// ProgressTimeout returns the time the deployer has for a job; 0 means no limit.
func (d *DeployItem) ProgressTimeout() time.Duration {
	if d.Spec.Timeout == nil {
		return DefaultDeployItemTimeout
	}
	return d.Spec.Timeout.Duration
}

// ContextName returns the name of the Context, "default" when the spec names none.
func (d *DeployItem) ContextName() string {
	if d.Spec.Context == "" {
		return DefaultContextName
	}
	return d.Spec.Context
}

// IsPickedUp reports whether a deployer has begun the current job.
func (d *DeployItem) IsPickedUp() bool {
	began, requested := d.Status.LastReconcileTime, d.Status.JobIDGenerationTime
	return began != nil && (requested == nil || !began.Before(requested))
}
