// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package model reads blueprints: the document blueprint.yaml with its defaults and rules, and blueprints that are written into an
// Installation as a file system in YAML. It promises nothing to others.
package model

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// FileName is the document at the root of every blueprint.
const FileName = "blueprint.yaml"

// What a blueprint document says about itself.
const (
	// APIVersion of blueprint documents.
	APIVersion = "landscaper.gardener.cloud/v1alpha1"
	// Kind of blueprint documents.
	Kind = "Blueprint"
	// DefaultJSONSchemaVersion applies where a blueprint names none; it is for information only.
	DefaultJSONSchemaVersion = "https://json-schema.org/draft/2019-09/schema"
	// SchemaVersionAnnotation chooses the shape in which templates see component descriptors.
	SchemaVersionAnnotation = "ocmSchemaVersion"
	// targetTypePrefix goes before target types without a slash.
	targetTypePrefix = "landscaper.gardener.cloud/"
)

// FieldType is the kind of an import or export.
type FieldType string

// Kinds of imports and exports. Exports are data or target.
const (
	// TypeData is any JSON value.
	TypeData FieldType = "data"
	// TypeTarget is one Target.
	TypeTarget FieldType = "target"
	// TypeTargetList is a list of Targets.
	TypeTargetList FieldType = "targetList"
	// TypeTargetMap is a map of Targets.
	TypeTargetMap FieldType = "targetMap"
)

// Blueprint is the content of blueprint.yaml.
type Blueprint struct {
	metav1.TypeMeta `json:",inline"`
	// Annotations of the blueprint; see SchemaVersionAnnotation.
	Annotations map[string]string `json:"annotations,omitempty"`
	// JSONSchemaVersion is for information.
	JSONSchemaVersion string `json:"jsonSchemaVersion,omitempty"`
	// LocalTypes are JSON schemas that others refer to as local://<name>.
	LocalTypes map[string]v1alpha1.AnyJSON `json:"localTypes,omitempty"`
	// Imports that the blueprint takes.
	Imports []ImportDefinition `json:"imports,omitempty"`
	// ImportExecutions compute further values and check the imports.
	ImportExecutions []TemplateExecutor `json:"importExecutions,omitempty"`
	// Exports that the blueprint gives.
	Exports []ExportDefinition `json:"exports,omitempty"`
	// Subinstallations are installed as children.
	Subinstallations []SubinstallationTemplate `json:"subinstallations,omitempty"`
	// SubinstallationExecutions render further children.
	SubinstallationExecutions []TemplateExecutor `json:"subinstallationExecutions,omitempty"`
	// DeployExecutions render deploy items.
	DeployExecutions []TemplateExecutor `json:"deployExecutions,omitempty"`
	// ExportExecutions render the values of the exports.
	ExportExecutions []TemplateExecutor `json:"exportExecutions,omitempty"`

	// Unknown are keys of the document that have no effect. Keys that are near to a known one are problems of the document instead.
	Unknown []document.Key `json:"-"`
}

// ImportDefinition declares one import.
type ImportDefinition struct {
	// Name of the import, unique over the blueprint with its conditional imports.
	Name string `json:"name"`
	// Type of the import.
	Type FieldType `json:"type,omitempty"`
	// Schema is the JSON schema of a data import.
	Schema *v1alpha1.AnyJSON `json:"schema,omitempty"`
	// TargetType is the type of the Targets of the other imports.
	TargetType string `json:"targetType,omitempty"`
	// Required is true unless it is said to be false.
	Required *bool `json:"required,omitempty"`
	// Sensitive keeps a data import in a Secret where sub-installations see it.
	Sensitive bool `json:"sensitive,omitempty"`
	// Default of an optional data import.
	Default Default `json:"default,omitempty"`
	// ConditionalImports count only when this optional import has a value.
	ConditionalImports []ImportDefinition `json:"imports,omitempty"`
}

// IsRequired reports whether the import must have a value.
func (d *ImportDefinition) IsRequired() bool { return d.Required == nil || *d.Required }

// Default is the value of an import that nobody gave.
type Default struct {
	// Value is any JSON value.
	Value v1alpha1.AnyJSON `json:"value,omitempty"`
}

// ExportDefinition declares one export.
type ExportDefinition struct {
	// Name of the export.
	Name string `json:"name"`
	// Type is TypeData or TypeTarget.
	Type FieldType `json:"type,omitempty"`
	// Schema is the JSON schema of a data export.
	Schema *v1alpha1.AnyJSON `json:"schema,omitempty"`
	// TargetType is the type of a target export.
	TargetType string `json:"targetType,omitempty"`
	// Sensitive keeps a data export in a Secret.
	Sensitive bool `json:"sensitive,omitempty"`
}

// TemplateExecutor is one template to run.
type TemplateExecutor struct {
	// Name of the executor, unique in its list.
	Name string `json:"name,omitempty"`
	// Type is the template language: GoTemplate or Spiff.
	Type string `json:"type"`
	// File of the blueprint with the template.
	File string `json:"file,omitempty"`
	// Template is the template itself, a text or for Spiff also structured data; it wins over File.
	Template v1alpha1.AnyJSON `json:"template,omitempty"`
}

// SubinstallationTemplate is a file with an InstallationTemplate, or one written in place.
type SubinstallationTemplate struct {
	// File of the blueprint with the InstallationTemplate.
	File string `json:"file,omitempty"`

	InstallationTemplate `json:",inline"`
}

// InstallationTemplate describes a child installation.
type InstallationTemplate struct {
	metav1.TypeMeta `json:",inline"`
	// Name of the child inside its parent.
	Name string `json:"name,omitempty"`
	// Blueprint of the child.
	Blueprint InstallationTemplateBlueprint `json:"blueprint,omitempty"`
	// Imports of the child, from its parent's imports and its siblings' exports.
	Imports v1alpha1.InstallationImports `json:"imports,omitempty"`
	// ImportDataMappings of the child.
	ImportDataMappings map[string]v1alpha1.AnyJSON `json:"importDataMappings,omitempty"`
	// Exports of the child to its parent and siblings.
	Exports v1alpha1.InstallationExports `json:"exports,omitempty"`
	// ExportDataMappings of the child.
	ExportDataMappings map[string]v1alpha1.AnyJSON `json:"exportDataMappings,omitempty"`
	// Optimization hints of the child.
	Optimization *v1alpha1.Optimization `json:"optimization,omitempty"`
}

// InstallationTemplateBlueprint says where the child's blueprint is: exactly one of its fields.
type InstallationTemplateBlueprint struct {
	// Ref is a cd:// URI of a blueprint resource.
	Ref string `json:"ref,omitempty"`
	// Filesystem is a blueprint in place; see Inline.
	Filesystem v1alpha1.AnyJSON `json:"filesystem,omitempty"`
	// Path is a folder of the artifact that the parent's blueprint comes from, beginning at the folder of that; see Beside.
	Path string `json:"path,omitempty"`
}

// Given returns how many of the fields are set.
func (b *InstallationTemplateBlueprint) Given() int {
	given := 0
	for _, set := range []bool{b.Ref != "", len(b.Filesystem.RawMessage) > 0, b.Path != ""} {
		if set {
			given++
		}
	}
	return given
}
