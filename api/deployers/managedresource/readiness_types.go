// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import "github.com/flux-landscaper/flux-landscaper/api/v1alpha1"

// ReadinessCheckConfiguration says when deployed objects count as ready.
type ReadinessCheckConfiguration struct {
	// disableDefault switches the built-in checks per kind off.
	DisableDefault bool `json:"disableDefault,omitempty"`
	// timeout is accepted for old manifests and ignored: the timeout of the DeployItem governs.
	Timeout *v1alpha1.Duration `json:"timeout,omitempty"`
	// kstatus makes the objects of all kinds without a built-in check wait for what kstatus makes of their status: conditions and
	// observedGeneration, Jobs for their end. An object that has failed ends the job of the DeployItem at once. Unset means true for updateStrategy
	// apply, else false: such objects are ready when they exist. It is an addition to the API of Gardener Landscaper.
	KStatus *bool `json:"kstatus,omitempty"`
	// healthChecks say for whole kinds, by CEL expressions, when their objects are ready. They replace the built-in check of the kind, also with
	// disableDefault. At most 32. They are an addition to the API of Gardener Landscaper, as healthCheckExprs in a Flux Kustomization.
	HealthChecks []HealthCheck `json:"healthChecks,omitempty"`
	// custom checks are evaluated after the built-in ones.
	CustomReadinessChecks []CustomReadinessCheckConfiguration `json:"custom,omitempty"`
}

// HealthCheck says by CEL expressions when the deployed objects of a kind are ready. An expression has the top-level fields of the object as
// variables, gives true or false, and has at most 2048 characters. While status.observedGeneration is there and is not metadata.generation, the
// object is not ready. Then inProgress, failed and current are asked in this order; an object for which none is true is not ready.
type HealthCheck struct {
	// apiVersion is group and version of the objects; the version does not count.
	APIVersion string `json:"apiVersion"`
	// kind of the objects.
	Kind string `json:"kind"`
	// current is true when an object is ready.
	Current string `json:"current"`
	// inProgress is true while an object is not ready.
	InProgress string `json:"inProgress,omitempty"`
	// failed is true when an object will not become ready. It ends the job of the DeployItem at once.
	Failed string `json:"failed,omitempty"`
}

// CustomReadinessCheckConfiguration selects objects and says what their fields have to be.
type CustomReadinessCheckConfiguration struct {
	// name of the check, for messages.
	Name string `json:"name"`
	// timeout is accepted for old manifests and ignored.
	Timeout *v1alpha1.Duration `json:"timeout,omitempty"`
	// disabled skips the check.
	Disabled bool `json:"disabled,omitempty"`
	// resourceSelector are the objects to check, by name.
	Resources []v1alpha1.TypedObjectReference `json:"resourceSelector,omitempty"`
	// labelSelector adds the objects of one kind with given labels, in all namespaces.
	LabelSelector *LabelSelectorSpec `json:"labelSelector,omitempty"`
	// requirements have to hold for every object.
	Requirements []RequirementSpec `json:"requirements"`
	// targetName names another Target to read from; empty means the target of the DeployItem.
	TargetName *string `json:"targetName,omitempty"`
}

// LabelSelectorSpec selects objects of one kind by labels.
type LabelSelectorSpec struct {
	// apiVersion is group and version of the objects.
	APIVersion string `json:"apiVersion"`
	// kind of the objects.
	Kind string `json:"kind"`
	// matchLabels that the objects carry.
	Labels map[string]string `json:"matchLabels"`
}

// RequirementSpec is one condition on the fields that a path selects.
type RequirementSpec struct {
	// jsonPath selects the fields, written without braces.
	JsonPath string `json:"jsonPath"`
	// operator is one of exists, !, =, ==, !=, in, notin.
	Operator string `json:"operator"`
	// values lists what to compare with: exactly one for =, == and !=, any number for in and notin, none otherwise.
	Value []RequirementValue `json:"values,omitempty"`
}

// RequirementValue is one value to compare with.
type RequirementValue struct {
	// value of any JSON type.
	Value v1alpha1.AnyJSON `json:"value"`
}

// Exports says which fields of which objects a DeployItem exports.
type Exports struct {
	// defaultTimeout is accepted for old manifests and ignored.
	DefaultTimeout *v1alpha1.Duration `json:"defaultTimeout,omitempty"`
	// exports lists the fields.
	Exports []Export `json:"exports,omitempty"`
}

// Export is one exported field.
type Export struct {
	// timeout is accepted for old manifests and ignored.
	Timeout *v1alpha1.Duration `json:"timeout,omitempty"`
	// key of the value in the exports; dots nest: a.b becomes {a: {b: value}}.
	Key string `json:"key"`
	// jsonPath selects the field, written without braces; the first match counts.
	JSONPath string `json:"jsonPath"`
	// fromResource names the object to read.
	FromResource *v1alpha1.TypedObjectReference `json:"fromResource,omitempty"`
	// fromObjectRef follows the value found, which is then a name and an optional namespace, to another object.
	FromObjectReference *FromObjectReference `json:"fromObjectRef,omitempty"`
	// targetName names another Target to read from; empty means the target of the DeployItem.
	TargetName *string `json:"targetName,omitempty"`
}

// FromObjectReference reads a field of the object that an exported reference names.
type FromObjectReference struct {
	// apiVersion is group and version of the object.
	APIVersion string `json:"apiVersion"`
	// kind of the object.
	Kind string `json:"kind"`
	// jsonPath selects the field, written without braces; the first match counts.
	JSONPath string `json:"jsonPath"`
}

// ContinuousReconcileSpec says when a DeployItem is carried out again without a job of its Execution; exactly one of its fields is set.
type ContinuousReconcileSpec struct {
	// cron is a cron expression of five fields or a descriptor like @daily, in UTC unless it begins with CRON_TZ=<zone>.
	Cron string `json:"cron,omitempty"`
	// every is the time after the begin of the last job, greater than zero.
	Every *v1alpha1.Duration `json:"every,omitempty"`
}
