// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// ChildBlueprint returns the blueprint of a sub-installation and its component: that of the parent for a blueprint in place, and the one
// that a reference leads to. One in another folder comes from where that of the parent comes from.
func (in *Inputs) ChildBlueprint(inst *v1alpha1.Installation, template *model.InstallationTemplate) (*v1alpha1.BlueprintDefinition, *v1alpha1.ComponentDescriptorDefinition, error) {
	if to := template.Blueprint.Path; to != "" {
		beside := inst.Spec.Blueprint.DeepCopy()
		var err error
		if beside.Path, err = model.Beside(inst.Spec.Blueprint.Path, to); err != nil {
			return nil, nil, fmt.Errorf("blueprint.path: %w", err)
		}
		return beside, inst.Spec.ComponentDescriptor, nil
	}
	if len(template.Blueprint.Filesystem.RawMessage) > 0 {
		inline := &v1alpha1.InlineBlueprint{Filesystem: template.Blueprint.Filesystem}
		return &v1alpha1.BlueprintDefinition{Inline: inline}, inst.Spec.ComponentDescriptor, nil
	}
	reference, descriptor, err := in.followBlueprint(inst, template.Blueprint.Ref)
	if err != nil {
		return nil, nil, fmt.Errorf("blueprint.ref %q: %w", template.Blueprint.Ref, err)
	}
	return &v1alpha1.BlueprintDefinition{Reference: reference}, descriptor, nil
}

// followBlueprint returns the resource that a cd:// URI leads to and the component that it is in.
func (in *Inputs) followBlueprint(inst *v1alpha1.Installation, uri string) (*v1alpha1.BlueprintReference, *v1alpha1.ComponentDescriptorDefinition, error) {
	if in.Component == nil {
		return nil, nil, errors.New("no component descriptor defined to resolve the blueprint ref; set spec.componentDescriptor or use blueprint.filesystem")
	}
	way, err := component.ParseReference(uri)
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := in.Component.closed.Locate(in.Component.root.Descriptor, way); err != nil {
		return nil, nil, err
	}
	resource := &v1alpha1.BlueprintReference{ResourceName: way.Resource["name"]}
	if len(way.Path) == 0 {
		return resource, inst.Spec.ComponentDescriptor, nil
	}
	descriptor, err := in.Component.child(way.Path)
	return resource, descriptor, err
}

// child describes the component that references lead to, as a sub-installation finds it by itself. The last reference is passed on as it
// is written: the child applies overwrites to it.
func (f *Component) child(path []map[string]string) (*v1alpha1.ComponentDescriptorDefinition, error) {
	last := len(path) - 1
	from, err := f.closed.Component(f.root.Descriptor, path[:last])
	if err != nil {
		return nil, err
	}
	reference, err := from.FindReference(path[last])
	if err != nil {
		return nil, err
	}
	if inline, err := f.embedded(reference); inline != nil || err != nil {
		return inline, err
	}
	out := &v1alpha1.ComponentDescriptorReference{ComponentName: reference.ComponentName, Version: reference.Version}
	if where := f.root.Repository; !where.IsZero() {
		raw := v1alpha1.NewAnyJSON(where.Raw)
		out.RepositoryContext = &raw
	}
	return &v1alpha1.ComponentDescriptorDefinition{Reference: out}, nil
}

// embedded returns the descriptor that an inline component carries in a reference, unless an overwrite leads elsewhere.
func (f *Component) embedded(reference *component.Reference) (*v1alpha1.ComponentDescriptorDefinition, error) {
	if f.root.Definition.Inline == nil {
		return nil, nil
	}
	found, err := reference.Embedded()
	if err != nil || found == nil {
		return nil, err
	}
	if target, err := f.closed.Follow(reference); err != nil || target.Key() != reference.Key() {
		return nil, err
	}
	for i := range reference.Labels {
		if reference.Labels[i].Name == component.LabelEmbedded {
			raw, err := json.Marshal(reference.Labels[i].Value)
			inline := v1alpha1.NewAnyJSON(raw)
			return &v1alpha1.ComponentDescriptorDefinition{Inline: &inline}, err
		}
	}
	return nil, nil
}
