// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// ObjectReference names an object. An empty namespace means the namespace of the object that holds the reference.
type ObjectReference struct {
	// name of the object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
	// namespace of the object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// TypedObjectReference names an object of any kind.
type TypedObjectReference struct {
	// apiVersion is group and version of the object.
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the object.
	// +optional
	Kind string `json:"kind,omitempty"`
	// ObjectReference is name and namespace of the object.
	ObjectReference `json:",inline"`
}

// LocalObjectReference names an object in the same namespace.
type LocalObjectReference struct {
	// name of the object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
}

// LocalSecretReference names a Secret in the same namespace and, optionally, one of its keys.
type LocalSecretReference struct {
	// name of the Secret.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key inside the Secret. Empty means the whole Secret as one object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
	// namespace is accepted for old manifests and ignored: only Secrets of the own namespace are read.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// LocalConfigMapReference names a ConfigMap in the same namespace and, optionally, one of its keys.
type LocalConfigMapReference struct {
	// name of the ConfigMap.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key inside the ConfigMap. Empty means the whole ConfigMap as one object.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
	// namespace is accepted for old manifests and ignored: only ConfigMaps of the own namespace are read.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// SecretReference names one key of a Secret in any namespace.
type SecretReference struct {
	ObjectReference `json:",inline"`
	// key inside the Secret.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Key string `json:"key,omitempty"`
}

// SourceReference names a Flux source object.
type SourceReference struct {
	// apiVersion of the source; empty means the version this release was built with.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	APIVersion string `json:"apiVersion,omitempty"`
	// kind of the source: GitRepository, OCIRepository, Bucket, ExternalArtifact or, for charts, HelmChart.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact;HelmChart
	Kind string `json:"kind"`
	// name of the source.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
	// namespace of the source; empty means the namespace of the referencing object. Another namespace is refused
	// while the controller runs with --no-cross-namespace-refs (the default).
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// SourceStatus records which state of a Flux source a job used.
type SourceStatus struct {
	// kind of the source.
	Kind string `json:"kind"`
	// namespace of the source.
	Namespace string `json:"namespace"`
	// name of the source.
	Name string `json:"name"`
	// revision of the artifact, in Flux's form (main@sha1:…, 1.2.0@sha256:…).
	// +optional
	Revision string `json:"revision,omitempty"`
	// contentDigest is the digest of the files below the used path, sha256:hex. A new revision of a GitRepository or Bucket with the same
	// content starts no job.
	// +optional
	ContentDigest string `json:"contentDigest,omitempty"`
	// digest of the artifact, algorithm:hex.
	// +optional
	Digest string `json:"digest,omitempty"`
	// verified says that Flux has verified the signature of the artifact.
	// +optional
	Verified bool `json:"verified,omitempty"`
}

// Duration is a span of time: Go's syntax (90s, 1h30m), or "none" for no limit.
//
// +kubebuilder:validation:Type=string
// +kubebuilder:validation:Pattern=`^(none|0|[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)?$`
type Duration struct {
	// Duration is the parsed span; 0 is "none".
	time.Duration `json:"-"`
}

// MarshalJSON writes Go's syntax, or "none" for zero.
func (d Duration) MarshalJSON() ([]byte, error) {
	if d.Duration == 0 {
		return []byte(`"none"`), nil
	}
	return json.Marshal(d.Duration.String())
}

// UnmarshalJSON reads what MarshalJSON writes. It fails on anything that is neither "none" nor Go's duration syntax.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("is not a duration; write one like 10m, or none: %w", err)
	}
	if text == "none" || text == "" {
		d.Duration = 0
		return nil
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("%q is not a duration; write one like 10m, or none", foreign.Beginning(text, 60))
	}
	d.Duration = parsed
	return nil
}

// AnyJSON is one JSON value of any type. JSON null counts as absent.
type AnyJSON struct {
	// RawMessage is the value as JSON text.
	json.RawMessage `json:"-"`
}

// NewAnyJSON wraps JSON text.
func NewAnyJSON(raw []byte) AnyJSON {
	return AnyJSON{RawMessage: raw}
}

// MarshalJSON returns the value, null when there is none.
func (a AnyJSON) MarshalJSON() ([]byte, error) {
	if len(a.RawMessage) == 0 {
		return []byte("null"), nil
	}
	return a.RawMessage, nil
}

// UnmarshalJSON takes any JSON value.
func (a *AnyJSON) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		a.RawMessage = nil
		return nil
	}
	a.RawMessage = append(a.RawMessage[:0], data...)
	return nil
}

// Requirement is one condition on a map of annotations or labels.
type Requirement struct {
	// key the condition is about.
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`
	// operator as in Kubernetes label selection: =, ==, !=, in, notin, exists, !, gt, lt.
	// +kubebuilder:validation:MaxLength=16
	Operator string `json:"operator"`
	// values to compare with.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	// +optional
	// +listType=atomic
	Values []string `json:"values,omitempty"`
}

// TargetSelector selects Targets. All given parts have to match.
type TargetSelector struct {
	// targets lists names; one has to match.
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	// +listType=atomic
	Targets []ObjectReference `json:"targets,omitempty"`
	// annotations lists conditions on the annotations.
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	// +listType=atomic
	Annotations []Requirement `json:"annotations,omitempty"`
	// labels lists conditions on the labels.
	// +kubebuilder:validation:MaxItems=1000
	// +optional
	// +listType=atomic
	Labels []Requirement `json:"labels,omitempty"`
}

// TransitionTimes records when a job reached its stages.
type TransitionTimes struct {
	// triggerTime is when the job was requested.
	// +optional
	TriggerTime *metav1.Time `json:"triggerTime,omitempty"`
	// initTime is when work began; the progress timeout of a DeployItem counts from here.
	// +optional
	InitTime *metav1.Time `json:"initTime,omitempty"`
	// waitTime is when the object began to wait for its children. It is accepted and not written.
	// +optional
	WaitTime *metav1.Time `json:"waitTime,omitempty"`
	// finishedTime is when the job ended.
	// +optional
	FinishedTime *metav1.Time `json:"finishedTime,omitempty"`
}

// Error describes what went wrong.
type Error struct {
	// operation that failed.
	Operation string `json:"operation"`
	// lastTransitionTime is when operation last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// lastUpdateTime is when anything in this error last changed.
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
	// reason in one CamelCase word.
	Reason string `json:"reason"`
	// message for a person.
	Message string `json:"message"`
	// codes classify the error.
	// +optional
	// +listType=atomic
	Codes []ErrorCode `json:"codes,omitempty"`
}

// ErrorCode classifies an Error.
type ErrorCode string

// Error codes. Those of UnrecoverableCodes end a job at once.
const (
	// ErrorUnauthorized says that credentials were rejected.
	ErrorUnauthorized ErrorCode = "ERR_UNAUTHORIZED"
	// ErrorCleanup says that objects are stuck in deletion.
	ErrorCleanup ErrorCode = "ERR_CLEANUP"
	// ErrorConfigurationProblem says that a person has to change a manifest.
	ErrorConfigurationProblem ErrorCode = "ERR_CONFIGURATION_PROBLEM"
	// ErrorInternalProblem says that the controller itself is at fault.
	ErrorInternalProblem ErrorCode = "ERR_INTERNAL_PROBLEM"
	// ErrorTimeout says that time ran out.
	ErrorTimeout ErrorCode = "ERR_TIMEOUT"
	// ErrorCyclicDependencies says that objects depend on each other in a circle.
	ErrorCyclicDependencies ErrorCode = "ERR_CYCLIC_DEPENDENCIES"
	// ErrorWebhook says that an admission webhook could not be reached; the step is tried again.
	ErrorWebhook ErrorCode = "ERR_WEBHOOK"
	// ErrorUnfinished says that children are still at work.
	ErrorUnfinished ErrorCode = "ERR_UNFINISHED"
	// ErrorForInfoOnly marks information that is not an error.
	ErrorForInfoOnly ErrorCode = "ERR_FOR_INFO_ONLY"
	// ErrorNoRetry says that only an event brings the object on.
	ErrorNoRetry ErrorCode = "ERR_NO_RETRY"
)

// UnrecoverableCodes are the codes that end a job as Failed at once.
var UnrecoverableCodes = []ErrorCode{
	ErrorConfigurationProblem, ErrorInternalProblem, ErrorTimeout, ErrorUnauthorized, ErrorCyclicDependencies,
}

// Phase is the stage of a job.
type Phase string

// Phases of Installations, Executions and DeployItems.
const (
	// PhaseInit is the first stage of a job.
	PhaseInit Phase = "Init"
	// PhaseCleanupOrphaned deletes sub-installations that the blueprint no longer has.
	PhaseCleanupOrphaned Phase = "CleanupOrphaned"
	// PhaseObjectsCreated says that all children exist.
	PhaseObjectsCreated Phase = "ObjectsCreated"
	// PhaseProgressing says that children, or the deployer, are at work.
	PhaseProgressing Phase = "Progressing"
	// PhaseCompleting collects the exports.
	PhaseCompleting Phase = "Completing"
	// PhaseSucceeded is the end of a good job.
	PhaseSucceeded Phase = "Succeeded"
	// PhaseFailed is the end of a bad job.
	PhaseFailed Phase = "Failed"
	// PhaseInitDelete is the first stage of a deletion.
	PhaseInitDelete Phase = "InitDelete"
	// PhaseTriggerDelete starts the deletion of the children.
	PhaseTriggerDelete Phase = "TriggerDelete"
	// PhaseDeleting says that the deletion is at work.
	PhaseDeleting Phase = "Deleting"
	// PhaseDeleteFailed is the end of a bad deletion.
	PhaseDeleteFailed Phase = "DeleteFailed"
)

// IsFinal reports whether a job has ended in this phase.
func (p Phase) IsFinal() bool {
	return p == PhaseSucceeded || p == PhaseFailed || p == PhaseDeleteFailed
}

// IsFailed reports whether a job has ended badly in this phase.
func (p Phase) IsFailed() bool {
	return p == PhaseFailed || p == PhaseDeleteFailed
}

// IsDeletion reports whether the phase belongs to a deletion.
func (p Phase) IsDeletion() bool {
	return p == PhaseInitDelete || p == PhaseTriggerDelete || p == PhaseDeleting || p == PhaseDeleteFailed
}

// JobStatus is the part of a status that carries the job protocol. An object is idle when both IDs are equal.
type JobStatus struct {
	// phase is the stage of the job.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// phaseTransitionTime is when phase last changed.
	// +optional
	PhaseTransitionTime *metav1.Time `json:"phaseTransitionTime,omitempty"`
	// jobID identifies the requested job.
	// +optional
	JobID string `json:"jobID,omitempty"`
	// jobIDFinished identifies the last job that ended.
	// +optional
	JobIDFinished string `json:"jobIDFinished,omitempty"`
	// lastError is what went wrong last, and while a job runs at least that it is unfinished (ERR_UNFINISHED); absent after a success.
	// +structType=atomic
	// +optional
	LastError *Error `json:"lastError,omitempty"`
	// transitionTimes records when the job reached its stages.
	// +optional
	TransitionTimes *TransitionTimes `json:"transitionTimes,omitempty"`
	// conditions are Ready and, while true, Reconciling or Stalled, as kstatus reads them.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IsIdle reports whether no job is running.
func (s *JobStatus) IsIdle() bool {
	return s.JobID == s.JobIDFinished
}
