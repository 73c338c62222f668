// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SyncObjectSpec is a lock on another object. This implementation needs no locks; the kind is served for manifests and
// tools that name it.
type SyncObjectSpec struct {
	// podName of the holder; empty means free.
	PodName string `json:"podName"`
	// kind of the locked object.
	Kind string `json:"kind"`
	// name of the locked object.
	Name string `json:"name"`
	// lastUpdateTime is when the lock last changed.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// prefix tells the lockers apart.
	Prefix string `json:"prefix"`
}

// SyncObjectStatus is empty.
type SyncObjectStatus struct{}

// SyncObject is a lock on another object.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=syncobjects,shortName=so,singular=syncobject,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="PodName",type=string,JSONPath=`.spec.podName`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.name`
type SyncObject struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec SyncObjectSpec `json:"spec,omitempty"`
	// +optional
	Status SyncObjectStatus `json:"status,omitempty"`
}

// SyncObjectList is a list of SyncObjects.
//
// +kubebuilder:object:root=true
type SyncObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SyncObject `json:"items"`
}

// LsHealthCheckStatus is the outcome of a health check.
type LsHealthCheckStatus string

// Outcomes of a health check.
const (
	// LsHealthCheckStatusInit is the state of a new check that has found a problem which may end by itself.
	LsHealthCheckStatusInit LsHealthCheckStatus = "Init"
	// LsHealthCheckStatusOk says that everything runs.
	LsHealthCheckStatusOk LsHealthCheckStatus = "Ok"
	// LsHealthCheckStatusFailed says that something has not run for an interval.
	LsHealthCheckStatusFailed LsHealthCheckStatus = "Failed"
)

// LsHealthCheck shows whether the Deployments of this system run: the controller writes the one that its flag --health-check
// names, in its own namespace. All fields are at the top level.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=lshealthchecks,shortName=lshc,singular=lshealthcheck,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status`
// +kubebuilder:printcolumn:name="LastUpdateTime",type=date,JSONPath=`.lastUpdateTime`
type LsHealthCheck struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	// status is the outcome: Init, Ok or Failed. A problem counts once it has lasted for an interval.
	Status LsHealthCheckStatus `json:"status"`
	// lastUpdateTime is when the check was last written: at least once in an interval while somebody checks.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// description of the first problem, or ok.
	Description string `json:"description"`
}

// LsHealthCheckList is a list of LsHealthChecks.
//
// +kubebuilder:object:root=true
type LsHealthCheckList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LsHealthCheck `json:"items"`
}

// CriticalProblemsSpec is the list of problems.
type CriticalProblemsSpec struct {
	// criticalProblem lists the newest ten problems, the oldest first.
	// +optional
	// +listType=atomic
	CriticalProblems []CriticalProblem `json:"criticalProblem,omitempty"`
}

// CriticalProblem is one problem.
type CriticalProblem struct {
	// podName is the Pod of the process.
	// +optional
	PodName string `json:"podName,omitempty"`
	// creationTime is when it happened. The same problem of a Pod is renewed once an hour.
	// +optional
	CreationTime metav1.Time `json:"creationTime,omitempty"`
	// description of the problem: what panicked, with function and line. The log of the Pod has the stack.
	// +optional
	Description string `json:"description,omitempty"`
}

// CriticalProblemsStatus is empty.
type CriticalProblemsStatus struct{}

// CriticalProblems collects problems that an operator has to report: each controller and deployer of the cluster records its
// panics in the one named critical-problems of its own namespace, and tries the object again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=criticalproblems,shortName=cps,singular=criticalproblems,categories=landscaper
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/substitute=disabled"
// +kubebuilder:metadata:annotations="kustomize.toolkit.fluxcd.io/prune=disabled"
type CriticalProblems struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Undecoded is what could not be read.
	Undecoded Undecoded `json:"-"`

	Spec CriticalProblemsSpec `json:"spec"`
	// +optional
	Status CriticalProblemsStatus `json:"status,omitempty"`
}

// CriticalProblemsList is a list of CriticalProblems.
//
// +kubebuilder:object:root=true
type CriticalProblemsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CriticalProblems `json:"items"`
}
