// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
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
