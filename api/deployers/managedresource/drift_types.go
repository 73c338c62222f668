// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

// DriftMode says what happens when deployed objects no longer are as a DeployItem wants them.
type DriftMode string

// Modes of drift detection, with the names that they have in a HelmRelease. The empty mode is DriftWarn.
const (
	// DriftEnabled corrects drift.
	DriftEnabled DriftMode = "enabled"
	// DriftWarn shows drift.
	DriftWarn DriftMode = "warn"
	// DriftDisabled does not look for drift.
	DriftDisabled DriftMode = "disabled"
)

// DriftDetection says what happens when somebody changes or deletes deployed objects. It is spec.driftDetection of a HelmRelease
// (https://fluxcd.io/flux/components/helm/helmreleases/#drift-detection); unlike there, drift is seen at once, and the default is warn.
type DriftDetection struct {
	// mode is enabled, which corrects drift, warn, which shows it in the condition Drifted, or disabled. Empty means warn.
	Mode DriftMode `json:"mode,omitempty"`
	// ignore lists fields that do not count as drift and that a correction leaves alone, at most 100 entries.
	Ignore []IgnoreRule `json:"ignore,omitempty"`
}

// IgnoreRule names fields of objects.
type IgnoreRule struct {
	// paths are the fields, as JSON pointers (RFC 6901), at most 100.
	Paths []string `json:"paths"`
	// target selects the objects. Unset means all.
	Target *ObjectSelector `json:"target,omitempty"`
}

// ObjectSelector selects objects. What is empty selects every object. Group, version, kind, namespace and name are regular expressions
// (RE2) that have to match as a whole: at most 2048 characters of ASCII each. Those that repeat much are refused.
type ObjectSelector struct {
	// group of the objects.
	Group string `json:"group,omitempty"`
	// version of the group.
	Version string `json:"version,omitempty"`
	// kind of the objects.
	Kind string `json:"kind,omitempty"`
	// namespace of the objects.
	Namespace string `json:"namespace,omitempty"`
	// name of the objects.
	Name string `json:"name,omitempty"`
	// annotationSelector selects by annotations, in the syntax of label selectors.
	AnnotationSelector string `json:"annotationSelector,omitempty"`
	// labelSelector selects by labels, for example app in (web, worker).
	LabelSelector string `json:"labelSelector,omitempty"`
}
