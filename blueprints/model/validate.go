// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// Problem is one rule that a blueprint breaks.
type Problem struct {
	// Path of the field, like imports[0].schema.
	Path string
	// Message says what is wrong and what to do.
	Message string
}

// ValidationError is returned for a blueprint with problems.
type ValidationError struct {
	// Problems of the blueprint, at least one.
	Problems []Problem
}

// Error lists all problems.
func (e *ValidationError) Error() string {
	var out []string
	for _, p := range e.Problems {
		out = append(out, p.Path+": "+p.Message)
	}
	return FileName + " is not valid: " + strings.Join(out, "; ")
}

func asError(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	return &ValidationError{Problems: problems}
}

// Validate checks the rules for blueprints and returns those that are broken; with more than fault.MostProblems the last problem says so. It expects that
// defaults are applied, as Load does.
func Validate(b *Blueprint) []Problem {
	v := &validator{}
	v.imports("imports", b.Imports, map[string]any{}, 0)
	v.exports("exports", b.Exports)
	v.executors("importExecutions", b.ImportExecutions)
	v.executors("subinstallationExecutions", b.SubinstallationExecutions)
	v.executors("deployExecutions", b.DeployExecutions)
	v.executors("exportExecutions", b.ExportExecutions)
	v.subinstallations("subinstallations", b.Subinstallations)
	return v.problems
}

// maxConditions is how deep conditional imports may be nested: the path of one is as long as it is deep.
const maxConditions = 32

type validator struct{ problems []Problem }

func (v *validator) add(path, format string, args ...any) {
	switch found := len(v.problems); {
	case found < fault.MostProblems:
		v.problems = append(v.problems, Problem{Path: path, Message: fmt.Sprintf(format, args...)})
	case found == fault.MostProblems:
		v.problems = append(v.problems, Problem{Path: path, Message: fault.MoreProblems})
	}
}

// imports shares the names over the whole tree of conditional imports.
func (v *validator) imports(path string, imports []ImportDefinition, names map[string]any, depth int) {
	if depth > maxConditions && len(imports) > 0 {
		v.add(path, "conditional imports are nested deeper than %d; move some out of the others", maxConditions)
		return
	}
	for i := range imports {
		d := &imports[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		v.name(at, d.Name, "import", d, names)
		v.importType(at, d)
		if len(d.ConditionalImports) > 0 && d.IsRequired() {
			v.add(at+".imports", "conditional imports need an optional import around them; add required: false")
		}
		v.imports(at+".imports", d.ConditionalImports, names, depth+1)
	}
}

// name takes the same declaration twice, because published blueprints have that.
func (v *validator) name(at, name, what string, declaration any, names map[string]any) {
	if name == "" {
		v.add(at+".name", "the %s has no name; give it one", what)
		return
	}
	if problems := validation.IsValidLabelValue(name); what == "import" && len(problems) > 0 {
		v.add(at+".name", "the name is not a valid label value: %s; change it", strings.Join(problems, "; "))
	}
	first, isTaken := names[name]
	if isTaken && (declaration == nil || !reflect.DeepEqual(first, declaration)) {
		v.add(at+".name", "there is another %s named %q; rename one of them", what, name)
	}
	if !isTaken {
		names[name] = declaration
	}
}

func (v *validator) importType(at string, d *ImportDefinition) {
	switch d.Type {
	case TypeData:
		v.dataField(at, d.Schema != nil, d.TargetType)
	case TypeTarget, TypeTargetList, TypeTargetMap:
		v.targetField(at, string(d.Type), d.Schema != nil, d.Sensitive, d.TargetType)
	case "componentDescriptor", "componentDescriptorList":
		v.add(at+".type", "imports of type %q were removed in 2022; import data instead, templates see the component descriptor as cd", d.Type)
	case "":
		v.add(at, "the kind of the import is not clear; set exactly one of schema and targetType, or type")
	default:
		v.add(at+".type", "type %q is unknown; use data, target, targetList or targetMap", d.Type)
	}
}

func (v *validator) dataField(at string, hasSchema bool, targetType string) {
	if !hasSchema {
		v.add(at+".schema", "data needs a JSON schema; add schema: {} to allow any value")
	}
	if targetType != "" {
		v.add(at+".targetType", "data has no target type; remove it")
	}
}

func (v *validator) targetField(at, kind string, hasSchema, isSensitive bool, targetType string) {
	if targetType == "" {
		v.add(at+".targetType", "type %s needs a targetType, for example landscaper.gardener.cloud/kubernetes-cluster", kind)
	}
	if hasSchema {
		v.add(at+".schema", "type %s has no schema; remove it", kind)
	}
	if isSensitive {
		v.add(at+".sensitive", "only data is sensitive, and the credentials of a Target are in the Secret that it names; remove it")
	}
}

func (v *validator) exports(path string, exports []ExportDefinition) {
	names := map[string]any{}
	for i := range exports {
		e := &exports[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		v.name(at, e.Name, "export", e, names)
		switch e.Type {
		case TypeData:
			v.dataField(at, e.Schema != nil, e.TargetType)
		case TypeTarget:
			v.targetField(at, string(e.Type), e.Schema != nil, e.Sensitive, e.TargetType)
		case "":
			v.add(at, "the kind of the export is not clear; set exactly one of schema and targetType, or type")
		default:
			v.add(at+".type", "type %q is unknown; use data or target", e.Type)
		}
	}
}

func (v *validator) executors(path string, executors []TemplateExecutor) {
	names := map[string]any{}
	for i := range executors {
		e := &executors[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		if e.Name != "" { // old blueprints leave it out
			v.name(at, e.Name, "executor", nil, names)
		}
		if e.Type == "" {
			v.add(at+".type", "the template language is missing; use GoTemplate or Spiff")
		}
		if e.File == "" && len(e.Template.RawMessage) == 0 {
			v.add(at, "no template found; set file or template")
		}
	}
}

func (v *validator) subinstallations(path string, templates []SubinstallationTemplate) {
	for i := range templates {
		t := &templates[i]
		at := fmt.Sprintf("%s[%d]", path, i)
		if t.File != "" && t.Name != "" {
			v.add(at, "both a file and a template in place are given; keep one")
		}
		if t.File == "" && t.Name == "" {
			v.add(at, "neither a file nor a template with a name is given; set file or name")
		}
	}
}
