// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
)

// connections are what an Installation, or a template of one, has to do with its blueprint.
type connections struct {
	imports        *v1alpha1.InstallationImports
	importMappings map[string]v1alpha1.AnyJSON
	exports        *v1alpha1.InstallationExports
	exportMappings map[string]v1alpha1.AnyJSON
}

// check compares them with the imports and exports of the blueprint, which findings call own.
func (c connections) check(b *model.Blueprint, own string, problem found) {
	given := c.given()
	needed(b.Imports, given, own, problem)
	var known []string
	for _, d := range render.Flatten(b.Imports) {
		known = append(known, d.Name)
	}
	unused := func(field, name string) {
		if name != "" && !slices.Contains(known, name) && !mentioned(c.importMappings, name) {
			problem(Warning, field, "%s has no import %q, so this one has no effect; %s", own, name, cure(name, known))
		}
	}
	for i := range c.imports.Data {
		unused(fmt.Sprintf("imports.data[%d].name", i), c.imports.Data[i].Name)
	}
	for i := range c.imports.Targets {
		unused(fmt.Sprintf("imports.targets[%d].name", i), c.imports.Targets[i].Name)
	}
	for i, e := range c.exports.Data {
		c.exported(b, model.TypeData, fmt.Sprintf("exports.data[%d].name", i), e.Name, own, problem)
	}
	for i, e := range c.exports.Targets {
		c.exported(b, model.TypeTarget, fmt.Sprintf("exports.targets[%d].name", i), e.Name, own, problem)
	}
}

// given are the types of what is imported by name.
func (c connections) given() map[string]model.FieldType {
	given := map[string]model.FieldType{}
	for _, d := range c.imports.Data {
		given[d.Name] = model.TypeData
	}
	for i := range c.imports.Targets {
		given[c.imports.Targets[i].Name] = typeOf(&c.imports.Targets[i])
	}
	for name := range c.importMappings {
		given[name] = model.TypeData
	}
	return given
}

func typeOf(t *v1alpha1.TargetImport) model.FieldType {
	switch {
	case t.Targets != nil || t.TargetListReference != "":
		return model.TypeTargetList
	case t.TargetMap != nil || t.TargetMapReference != "":
		return model.TypeTargetMap
	}
	return model.TypeTarget
}

// fieldsOf tells which fields give an import of a type.
var fieldsOf = map[model.FieldType]string{
	model.TypeData: "imports.data", model.TypeTarget: "imports.targets", model.TypeTargetList: "imports.targets, with targets or targetListRef",
	model.TypeTargetMap: "imports.targets, with targetMap or targetMapRef",
}

// needed reports the imports that have to be given, and are not, or as something else.
func needed(imports []model.ImportDefinition, given map[string]model.FieldType, own string, problem found) {
	for i := range imports {
		d := &imports[i]
		kind, isGiven := given[d.Name]
		switch {
		case isGiven && kind == d.Type:
			needed(d.ConditionalImports, given, own, problem)
		case d.IsRequired():
			problem(Error, "imports", "%s needs import %q of type %s; add it to %s", own, d.Name, d.Type, fieldsOf[d.Type])
		case isGiven:
			problem(Warning, "imports", "%s has import %q of type %s, and it is given as %s, which has no effect; give it by %s", own, d.Name, d.Type, kind, fieldsOf[d.Type])
		}
	}
}

// mentioned reports whether one of the mappings may read a name.
func mentioned(mappings map[string]v1alpha1.AnyJSON, name string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(mappings)), func(m v1alpha1.AnyJSON) bool { return strings.Contains(string(m.RawMessage), name) })
}

func (c connections) exported(b *model.Blueprint, kind model.FieldType, field, name, own string, problem found) {
	var known []string
	for i := range b.Exports {
		if b.Exports[i].Type == kind {
			known = append(known, b.Exports[i].Name)
		}
	}
	if kind == model.TypeData {
		known = slices.AppendSeq(known, maps.Keys(c.exportMappings))
	}
	if name != "" && !slices.Contains(known, name) {
		problem(Error, field, "%s has no %s export %q; %s", own, kind, name, cure(name, known))
	}
}
