// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// Subinstallations runs the sub-installation executions and adds the templates that the blueprint lists. Data imports from optional
// imports without value are left out. The templates are checked against each other and the imports of the blueprint; a circle between
// them is a *CycleError. The state is returned also together with an error.
func Subinstallations(ctx context.Context, env *Environment, values *Values, previous State) ([]model.InstallationTemplate, State, error) {
	if previous == nil {
		previous = State{}
	}
	x := execution{env: env, field: "subinstallationExecutions", previous: previous, rejectNoValue: true}
	var templates []model.InstallationTemplate
	stored, err := x.run(ctx, env.Blueprint.SubinstallationExecutions, func() map[string]any { return env.bindings(values) }, func(made json.RawMessage) error {
		var out struct {
			Subinstallations []json.RawMessage `json:"subinstallations"`
		}
		if err := decode(made, &out); err != nil {
			return err
		}
		written, err := decodeEach[model.InstallationTemplate](out.Subinstallations, "sub-installation", "subinstallations")
		templates = append(templates, written...)
		if err == nil {
			err = x.noteMade(made, &subinstallationsMade{})
		}
		return err
	})
	if err != nil {
		return nil, stored, err
	}
	listed, err := x.listedTemplates()
	if err != nil {
		return nil, stored, err
	}
	templates = append(templates, listed...)
	for i := range templates {
		prune(env.Blueprint, values, &templates[i])
	}
	return templates, stored, validateTemplates(env.Blueprint, templates)
}

func (x *execution) listedTemplates() ([]model.InstallationTemplate, error) {
	var out []model.InstallationTemplate
	for i := range x.env.Blueprint.Subinstallations {
		s := &x.env.Blueprint.Subinstallations[i]
		if s.File == "" {
			out = append(out, s.InstallationTemplate)
			continue
		}
		loaded, err := x.loadTemplate(s.File)
		if err != nil {
			return nil, fmt.Errorf("subinstallations[%d]: %w", i, err)
		}
		out = append(out, *loaded)
	}
	return out, nil
}

func (x *execution) loadTemplate(file string) (*model.InstallationTemplate, error) {
	text, err := templating.ReadFile(x.env.Files, file)
	if err != nil {
		return nil, err
	}
	raw, err := foreign.ToJSON(text)
	if err == nil {
		err = foreign.CheckWhole(text)
	}
	if err != nil {
		return nil, fmt.Errorf("file %q %w", file, err)
	}
	var out model.InstallationTemplate
	err = decode(raw, &out)
	if err == nil {
		err = x.note(raw, document.KeysInAnyCase(raw, &out))
	}
	if err != nil {
		return nil, fmt.Errorf("file %q: %w", file, err)
	}
	if out.Kind != "" && out.Kind != "InstallationTemplate" {
		return nil, fmt.Errorf("file %q has kind %q; it must be an InstallationTemplate", file, out.Kind)
	}
	return &out, nil
}

// prune leaves out data imports that refer to an optional or conditional import without value.
func prune(b *model.Blueprint, values *Values, t *model.InstallationTemplate) {
	missing := map[string]bool{}
	available := values.DataImports(b)
	for _, d := range Flatten(b.Imports) {
		_, has := available[d.Name]
		missing[d.Name] = d.Type == model.TypeData && !has
	}
	kept := t.Imports.Data[:0:0]
	for _, d := range t.Imports.Data {
		if !missing[d.DataRef] {
			kept = append(kept, d)
		}
	}
	t.Imports.Data = kept
}

// maxTemplateName is how long the name of a sub-installation may be, so that object names and labels made from it fit.
const maxTemplateName = 52

// siblings knows where the imports of sub-installations can come from.
type siblings struct {
	// parents are the kinds of the blueprint's imports by name.
	parents map[string]model.FieldType
	// data and targets are names of sub-installations by what they export.
	data, targets map[string]string
	// edges are names of siblings that a sub-installation imports from.
	edges map[string][]string
}

func validateTemplates(b *model.Blueprint, templates []model.InstallationTemplate) error {
	s := &siblings{parents: map[string]model.FieldType{}, data: map[string]string{}, targets: map[string]string{}, edges: map[string][]string{}}
	for _, d := range Flatten(b.Imports) {
		s.parents[d.Name] = d.Type
	}
	for i := range templates {
		if err := s.declare(i, &templates[i]); err != nil {
			return err
		}
	}
	for i := range templates {
		if err := s.connect(&templates[i]); err != nil {
			return fmt.Errorf("sub-installation %q: %w", templates[i].Name, err)
		}
	}
	if cycle := validation.Cycle(s.edges); cycle != nil {
		return &CycleError{Names: cycle}
	}
	return nil
}

// declare checks one template by itself and notes its exports.
func (s *siblings) declare(index int, t *model.InstallationTemplate) error {
	if t.Name == "" {
		return fmt.Errorf("subinstallations[%d] has no name; give it one", index)
	}
	if _, taken := s.edges[t.Name]; taken {
		return fmt.Errorf("there is another sub-installation named %q; rename one of them", t.Name)
	}
	s.edges[t.Name] = nil
	if err := checkTemplate(t); err != nil {
		return fmt.Errorf("sub-installation %q: %w", t.Name, err)
	}
	if err := s.exports(t); err != nil {
		return fmt.Errorf("sub-installation %q: %w", t.Name, err)
	}
	return nil
}

func checkTemplate(t *model.InstallationTemplate) error {
	if len(t.Name) > maxTemplateName {
		return fmt.Errorf("its name is longer than %d characters", maxTemplateName)
	}
	if problems := content.IsLabelValue(t.Name); len(problems) > 0 {
		return fmt.Errorf("its name is not a valid label value: %s", strings.Join(problems, "; "))
	}
	if t.Blueprint.Given() != 1 {
		return errors.New("exactly one of blueprint.ref, blueprint.filesystem and blueprint.path must be given")
	}
	return nil
}

func (s *siblings) exports(t *model.InstallationTemplate) error {
	for _, e := range t.Exports.Data {
		if err := s.export(s.data, e.DataRef, t.Name, "data"); err != nil {
			return err
		}
	}
	for _, e := range t.Exports.Targets {
		if err := s.export(s.targets, e.Target, t.Name, "target"); err != nil {
			return err
		}
	}
	return nil
}

func (s *siblings) export(known map[string]string, name, exporter, kind string) error {
	if other, taken := known[name]; taken {
		return fmt.Errorf("%s export %q is also exported by sub-installation %q; rename one of them", kind, name, other)
	}
	if _, taken := s.parents[name]; taken {
		return fmt.Errorf("%s export %q is imported by its parent; rename it", kind, name)
	}
	known[name] = exporter
	return nil
}

// connect finds the origin of each import.
func (s *siblings) connect(t *model.InstallationTemplate) error {
	for _, d := range t.Imports.Data {
		if d.SecretRef != nil || d.ConfigMapRef != nil || d.DataRef == "" {
			return fmt.Errorf("data import %q must have a dataRef, and nothing else, in a sub-installation", d.Name)
		}
		if err := s.origin(t.Name, d.DataRef, model.TypeData, s.data); err != nil {
			return fmt.Errorf("data import %q: %w", d.Name, err)
		}
	}
	for i := range t.Imports.Targets {
		d := &t.Imports.Targets[i]
		if err := s.connectTarget(t.Name, d.TargetListReference, d.TargetMapReference, d.Target, d.Targets, d.TargetMap); err != nil {
			return fmt.Errorf("target import %q: %w", d.Name, err)
		}
	}
	return nil
}

func (s *siblings) connectTarget(name, list, byKey, single string, several []string, keyed map[string]string) error {
	switch {
	case list != "":
		return s.whole(list, model.TypeTargetList)
	case byKey != "":
		return s.whole(byKey, model.TypeTargetMap)
	case single != "":
		return s.origin(name, single, model.TypeTarget, s.targets)
	}
	for _, target := range several {
		if err := s.origin(name, target, model.TypeTarget, s.targets); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keyed)) {
		if err := s.origin(name, keyed[key], model.TypeTarget, s.targets); err != nil {
			return err
		}
	}
	return nil
}

func (s *siblings) whole(name string, kind model.FieldType) error {
	if s.parents[name] != kind {
		return fmt.Errorf("the blueprint has no import %q of type %s", name, kind)
	}
	return nil
}

// origin accepts an import of the blueprint, one element of a target list or map import, an export of a sibling, or #name, which is
// an object of the namespace.
func (s *siblings) origin(importer, ref string, kind model.FieldType, exported map[string]string) error {
	if strings.HasPrefix(ref, "#") || s.parents[ref] == kind {
		return nil
	}
	if exporter, ok := exported[ref]; ok {
		s.edges[importer] = append(s.edges[importer], exporter)
		return nil
	}
	if kind == model.TypeTarget && s.isElement(ref) {
		return nil
	}
	return fmt.Errorf("%q is neither an import of type %s of the blueprint nor an export of another sub-installation", ref, kind)
}

// isElement reports whether ref is name[index] or name[key] of a list or map import.
func (s *siblings) isElement(ref string) bool {
	name, rest, found := strings.Cut(ref, "[")
	if !found || !strings.HasSuffix(rest, "]") {
		return false
	}
	return s.parents[name] == model.TypeTargetList || s.parents[name] == model.TypeTargetMap
}
