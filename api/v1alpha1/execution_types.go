// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ExecutionSpec lists the DeployItems to make.
type ExecutionSpec struct {
	// context names the Context in the same namespace; empty means "default".
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Context string `json:"context,omitempty"`
	// deployItems are the templates.
	// +kubebuilder:validation:MaxItems=10000
	// +optional
	// +listType=atomic
	DeployItems []DeployItemTemplate `json:"deployItems,omitempty"`
	// deployItemsCompressed is the gzipped JSON of the templates; when given it wins over deployItems.
	// +kubebuilder:validation:MaxLength=1433600
	// +optional
	DeployItemsCompressed []byte `json:"deployItemsCompressed,omitempty"`
	// sensitiveExports keeps what the items export in a Secret that the DataObject of the exports names. Default: false. An addition to the API of
	// Gardener Landscaper.
	// +optional
	SensitiveExports bool `json:"sensitiveExports,omitempty"`
}

// DeployItemTemplate is the template of one DeployItem.
type DeployItemTemplate struct {
	// name of the item, unique in the Execution.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Name string `json:"name"`
	// type selects the deployer.
	// +kubebuilder:validation:MaxLength=1024
	Type string `json:"type"`
	// target to deploy to.
	// +optional
	Target *ObjectReference `json:"target,omitempty"`
	// labels of the DeployItem.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`
	// config for the deployer.
	// +kubebuilder:pruning:PreserveUnknownFields
	Configuration *runtime.RawExtension `json:"config"`
	// dependsOn names items that have to succeed before.
	// +kubebuilder:validation:MaxItems=10000
	// +kubebuilder:validation:items:MaxLength=63
	// +optional
	// +listType=atomic
	DependsOn []string `json:"dependsOn,omitempty"`
	// timeout of the item; 10m when unset, none for no limit.
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`
	// updateOnChangeOnly skips the work when nothing changed since the last success.
	// +optional
	UpdateOnChangeOnly bool `json:"updateOnChangeOnly,omitempty"`
	// onDelete says how to delete.
	// +optional
	OnDelete *OnDeleteConfig `json:"onDelete,omitempty"`
	// serviceAccountName names a ServiceAccount of the namespace that the deployer acts as on the Targets of the item.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// OnDeleteConfig says how a DeployItem is deleted.
type OnDeleteConfig struct {
	// skipUninstallIfClusterRemoved deletes the DeployItem without uninstall when its Target came from a Shoot, by the TargetSync of the
	// namespace, and that Shoot is gone or in deletion.
	// +optional
	SkipUninstallIfClusterRemoved bool `json:"skipUninstallIfClusterRemoved,omitempty"`
	// targetGone deletes the DeployItem without uninstall when the clusters that it was deployed to have been gone for a while. An addition to
	// the API of Gardener Landscaper.
	// +optional
	TargetGone *TargetGone `json:"targetGone,omitempty"`
}

// TargetGone says when a cluster that is gone is not waited for any more. A cluster is gone while its Target leads to a cluster with another UID of
// the namespace kube-system than recorded, or to a name that does not exist in DNS. One that does not answer, or refuses, is not gone.
//
// +kubebuilder:validation:XValidation:fieldPath=".after",rule="duration(self.after) >= duration('1m') && duration(self.after) <= duration('168h')",message="has to be from 1m to 168h"
type TargetGone struct {
	// after is for how long, from 1m to 168h. The deletion waits as long, also beyond its timeout.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,5}(\.[0-9]{1,5})?(ms|s|m|h)){1,4}$`
	After metav1.Duration `json:"after"`
}

// ExecutionStatus is what the controller observed.
type ExecutionStatus struct {
	// observedGeneration is the generation of the spec that the last job ran for.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	JobStatus `json:",inline"`

	// exportRef names the DataObject with the exports of all items.
	// +optional
	ExportReference *ObjectReference `json:"exportRef,omitempty"`
	// allItemsBegan says, while the Execution is being deleted, that each of its DeployItems had a job before. One whose status names none has lost
	// it since, and its deployer looks for what it had deployed.
	// +optional
	AllItemsBegan bool `json:"allItemsBegan,omitempty"`
	// deployItemCache lists the known DeployItems. It is accepted and without effect: the owner of a DeployItem and its label say to which
	// template it belongs.
	// +optional
	DeployItemCache *DeployItemCache `json:"deployItemCache,omitempty"`
}

// DeployItemCache lists the known DeployItems.
type DeployItemCache struct {
	// activeDIs are those of the current templates.
	// +optional
	// +listType=atomic
	ActiveDIs []DiNamePair `json:"activeDIs,omitempty"`
	// orphanedDIs are object names of those that have no template any more.
	// +optional
	// +listType=atomic
	OrphanedDIs []string `json:"orphanedDIs,omitempty"`
}

// DiNamePair connects the name of a template with the name of the DeployItem made from it.
type DiNamePair struct {
	// specName is the name of the template.
	SpecName string `json:"specName"`
	// objectName is the name of the DeployItem.
	ObjectName string `json:"objectName"`
}

// Execution makes the DeployItems of one Installation.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=executions,shortName=exec,singular=execution,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Phase",type=string,priority=1,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="ExportRef",type=string,priority=1,JSONPath=`.status.exportRef.name`
type Execution struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec ExecutionSpec `json:"spec"`
	// +kubebuilder:default:={"observedGeneration":-1}
	// +structType=atomic
	// +optional
	Status ExecutionStatus `json:"status,omitempty"`
}

// ExecutionList is a list of Executions.
//
// +kubebuilder:object:root=true
type ExecutionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Execution `json:"items"`
}

// GetConditions returns the conditions of the status.
func (e *Execution) GetConditions() []metav1.Condition {
	return e.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (e *Execution) SetConditions(conditions []metav1.Condition) {
	e.Status.Conditions = conditions
}

// Job returns the part of the status that carries the job protocol.
func (e *Execution) Job() *JobStatus {
	return &e.Status.JobStatus
}
