// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package validation holds the rules for objects that their schemas cannot express. Admission webhooks and controllers apply the
// same rules.
package validation

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// MaxInstallationNameLength keeps the label value Inst.<name> within 63 characters.
const MaxInstallationNameLength = 58

// maxGenerateNameLength leaves room for the five characters that the API server adds.
const maxGenerateNameLength = MaxInstallationNameLength - 5

var mapKey = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// Installation returns everything that is wrong with an Installation.
func Installation(inst *v1alpha1.Installation) field.ErrorList {
	spec := field.NewPath("spec")
	problems := installationName(inst)
	problems = append(problems, blueprint(&inst.Spec.Blueprint, spec.Child("blueprint"))...)
	problems = append(problems, component(inst.Spec.ComponentDescriptor, spec.Child("componentDescriptor"))...)
	problems = append(problems, imports(&inst.Spec.Imports, spec.Child("imports"))...)
	problems = append(problems, exports(&inst.Spec.Exports, spec.Child("exports"))...)
	return told(append(problems, automaticReconcile(inst.Spec.AutomaticReconcile, spec.Child("automaticReconcile"))...))
}

func installationName(inst *v1alpha1.Installation) field.ErrorList {
	path := field.NewPath("metadata", "name")
	if len(inst.Name) > MaxInstallationNameLength {
		return field.ErrorList{tooLong(inst)}
	}
	var problems field.ErrorList
	if inst.Name == "" {
		return nil
	}
	for _, problem := range validation.IsDNS1123Label(inst.Name) {
		problems = append(problems, field.Invalid(path, inst.Name, problem))
	}
	return problems
}

// tooLong names the field that a person wrote.
func tooLong(inst *v1alpha1.Installation) *field.Error {
	if inst.GenerateName != "" && strings.HasPrefix(inst.Name, inst.GenerateName[:min(len(inst.GenerateName), MaxInstallationNameLength)]) {
		return field.TooLong(field.NewPath("metadata", "generateName"), inst.GenerateName, maxGenerateNameLength)
	}
	return field.TooLong(field.NewPath("metadata", "name"), inst.Name, MaxInstallationNameLength)
}

// exactlyOne checks that one of several fields is given.
func exactlyOne(path *field.Path, names string, given ...bool) field.ErrorList {
	count := 0
	for _, g := range given {
		if g {
			count++
		}
	}
	if count == 1 {
		return nil
	}
	if count == 0 {
		return field.ErrorList{field.Required(path, "give exactly one of "+names)}
	}
	return field.ErrorList{field.Forbidden(path, "give exactly one of "+names)}
}

func blueprint(definition *v1alpha1.BlueprintDefinition, path *field.Path) field.ErrorList {
	return exactlyOne(path, "inline, ref and sourceRef",
		definition.Inline != nil, definition.Reference != nil, definition.SourceReference != nil)
}

func component(definition *v1alpha1.ComponentDescriptorDefinition, path *field.Path) field.ErrorList {
	if definition == nil {
		return nil
	}
	return exactlyOne(path, "inline, ref and sourceRef",
		definition.Inline != nil, definition.Reference != nil, definition.SourceReference != nil)
}

func imports(imports *v1alpha1.InstallationImports, path *field.Path) field.ErrorList {
	names := map[string]bool{}
	data, targets := path.Child("data"), path.Child("targets")
	problems := fault.ProblemsIn(len(imports.Data), func(i int) []*field.Error {
		at := data.Index(i)
		return append(imported(at.Child("name"), imports.Data[i].Name, names), dataImport(&imports.Data[i], at)...)
	})
	return append(problems, fault.ProblemsIn(len(imports.Targets), func(i int) []*field.Error {
		at := targets.Index(i)
		return append(imported(at.Child("name"), imports.Targets[i].Name, names), targetImport(&imports.Targets[i], at)...)
	})...)
}

func imported(path *field.Path, name string, seen map[string]bool) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "name the import")}
	}
	return named(path, name, seen)
}

func dataImport(data *v1alpha1.DataImport, path *field.Path) field.ErrorList {
	problems := exactlyOne(path, "dataRef, secretRef and configMapRef",
		data.DataRef != "", data.SecretRef != nil, data.ConfigMapRef != nil)
	if data.SecretRef != nil && data.SecretRef.Name == "" {
		problems = append(problems, field.Required(path.Child("secretRef", "name"), "name the Secret"))
	}
	if data.ConfigMapRef != nil && data.ConfigMapRef.Name == "" {
		problems = append(problems, field.Required(path.Child("configMapRef", "name"), "name the ConfigMap"))
	}
	return problems
}

func targetImport(target *v1alpha1.TargetImport, path *field.Path) field.ErrorList {
	problems := exactlyOne(path, "target, targets, targetListRef, targetMap and targetMapRef",
		target.Target != "", target.Targets != nil, target.TargetListReference != "", target.TargetMap != nil, target.TargetMapReference != "")
	problems = append(problems, fault.ProblemsIn(len(target.Targets), func(i int) []*field.Error {
		if target.Targets[i] != "" {
			return nil
		}
		return field.ErrorList{field.Required(path.Child("targets").Index(i), "name the Target")}
	})...)
	return append(problems, fault.ProblemsInMap(target.TargetMap, func(key, name string) []*field.Error {
		return mapEntry(key, name, path.Child("targetMap").Key(key))
	})...)
}

func mapEntry(key, name string, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if !mapKey.MatchString(key) {
		problems = append(problems, field.Invalid(path, key, "a key has to match "+mapKey.String()))
	}
	if name == "" {
		problems = append(problems, field.Required(path, "name the Target"))
	}
	return problems
}

func exports(exports *v1alpha1.InstallationExports, path *field.Path) field.ErrorList {
	data, targets := map[string]bool{}, map[string]bool{}
	problems := fault.ProblemsIn(len(exports.Data), func(i int) []*field.Error {
		export, at := &exports.Data[i], path.Child("data").Index(i)
		problems := named(at.Child("name"), export.Name, data)
		if export.DataRef == "" {
			problems = append(problems, field.Required(at.Child("dataRef"), "name the DataObject"))
		}
		return problems
	})
	return append(problems, fault.ProblemsIn(len(exports.Targets), func(i int) []*field.Error {
		export, at := &exports.Targets[i], path.Child("targets").Index(i)
		problems := named(at.Child("name"), export.Name, targets)
		if export.Target == "" {
			problems = append(problems, field.Required(at.Child("target"), "name the Target"))
		}
		return problems
	})...)
}

func named(path *field.Path, name string, seen map[string]bool) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "give a name")}
	}
	if seen[name] {
		return field.ErrorList{field.Duplicate(path, name)}
	}
	seen[name] = true
	return nil
}

func automaticReconcile(automatic *v1alpha1.AutomaticReconcile, path *field.Path) field.ErrorList {
	var problems field.ErrorList
	if automatic == nil {
		return nil
	}
	check := func(at *field.Path, spec string) {
		if spec == "" {
			return
		}
		if _, err := managedresource.ParseSchedule(spec); err != nil {
			problems = append(problems, field.Invalid(at, document.Brief(spec), err.Error()))
		}
	}
	if automatic.SucceededReconcile != nil {
		check(path.Child("succeededReconcile", "cronSpec"), automatic.SucceededReconcile.CronSpec)
	}
	if automatic.FailedReconcile != nil {
		check(path.Child("failedReconcile", "cronSpec"), automatic.FailedReconcile.CronSpec)
	}
	return problems
}

const (
	// maxProblems is how many problems of an object are named.
	maxProblems = fault.MostProblems
	// longestShown is how many bytes of a field and of its value a problem shows. Names of objects are shorter.
	longestShown = 300
)

// told returns the problems of an object as people are told them: the first ones, saying whether there are more, and of each value no more than its
// beginning. Every function of the package that may find many problems of an object ends with it: who joins the texts of problems copies them again with each.
func told(problems field.ErrorList) field.ErrorList {
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems], field.Forbidden(field.NewPath("spec"), fault.MoreProblems))
	}
	for _, problem := range problems {
		problem.Field = foreign.Beginning(problem.Field, longestShown)
		if value, isText := problem.BadValue.(string); isText {
			problem.BadValue = foreign.Beginning(value, longestShown)
		}
	}
	return problems
}

// maxWarnings is how many fields are named; API servers cut warnings that are longer together.
const maxWarnings = 10

// InstallationWarnings returns a sentence for each field of the spec that is accepted from manifests of Gardener Landscaper and has no effect,
// at most ten.
func InstallationWarnings(inst *v1alpha1.Installation) []string {
	var warnings []string
	warn := func(at *field.Path, instead string) {
		if len(warnings) < maxWarnings {
			warnings = append(warnings, fmt.Sprintf("%s has no effect: %s", at, instead))
		}
	}
	spec := field.NewPath("spec")
	imports := spec.Child("imports")
	for i, data := range inst.Spec.Imports.Data {
		at := imports.Child("data").Index(i)
		if data.Version != "" {
			warn(at.Child("version"), "remove it")
		}
		if ref := data.SecretRef; ref != nil && ref.Namespace != "" && ref.Namespace != inst.Namespace {
			warn(at.Child("secretRef", "namespace"), "the Secret is read from the namespace of the Installation; copy it there")
		}
		if ref := data.ConfigMapRef; ref != nil && ref.Namespace != "" && ref.Namespace != inst.Namespace {
			warn(at.Child("configMapRef", "namespace"), "the ConfigMap is read from the namespace of the Installation; copy it there")
		}
	}
	if descriptors := inst.Spec.Imports.ComponentDescriptors; descriptors != nil && len(descriptors.RawMessage) > 0 {
		warn(imports.Child("componentDescriptors"), "name the component in spec.componentDescriptor")
	}
	if inst.Spec.Optimization != nil {
		warn(spec.Child("optimization"), "siblings are found by an index; remove it")
	}
	return warnings
}
