// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"io/fs"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/schema"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// Environment is what all templates of one installation see beside its imports. As JSON it has no capabilities.
type Environment struct {
	// Blueprint that is rendered.
	Blueprint *model.Blueprint
	// Files of the blueprint.
	Files fs.FS `json:"-"`
	// Schemas checks data imports and exports.
	Schemas *schema.Validator `json:"-"`
	// Namespace of the installation, for references to Targets.
	Namespace string
	// ComponentDescriptor is the binding cd; nil when there is none.
	ComponentDescriptor any
	// Components is the binding components, the transitive closure with the own component; nil when there is none.
	Components any
	// BlueprintDefinition is spec.blueprint of the installation.
	BlueprintDefinition any
	// ComponentDescriptorDefinition is the effective spec.componentDescriptor; nil leaves the binding out.
	ComponentDescriptorDefinition any
	// Resources and Clusters are capabilities; nil makes functions that need them fail.
	Resources templating.ResourceReader `json:"-"`
	// Closure knows the components behind Components; nil when there are none.
	Closure *templating.Closure
	// Clusters issues kubeconfigs.
	Clusters templating.Clusters `json:"-"`
	// Unknown collects keys without effect in what the templates make.
	Unknown []document.Key
	// Unmasked lets errors show values, to a person who has given them.
	Unmasked bool
	// Begin is told what is run next; nil where nobody needs to know.
	Begin func(step string) `json:"-"`
}

func (e *Environment) begin(step string) {
	if e.Begin != nil {
		e.Begin(step)
	}
}

// bindings are the values that templates of all kinds see.
func (e *Environment) bindings(values *Values) map[string]any {
	out := map[string]any{
		"imports":      values.Template(),
		"cd":           e.ComponentDescriptor,
		"components":   e.Components,
		"blueprint":    e.BlueprintDefinition,
		"blueprintDef": e.BlueprintDefinition,
	}
	if e.ComponentDescriptorDefinition != nil {
		out["componentDescriptorDef"] = e.ComponentDescriptorDefinition
	}
	return out
}
