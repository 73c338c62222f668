// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
)

// ImportIsSensitive reports whether sub-installations see an import of the blueprint in a Secret only: blueprint or Installation say so, or its value
// comes from a sensitive export. What a mapping makes is sensitive where anything is that it may be made from.
func (p *Plan) ImportIsSensitive(name string) bool {
	for _, definition := range render.Flatten(p.Blueprint.Document.Imports) {
		if definition.Name == name && definition.Sensitive {
			return true
		}
	}
	if _, mapped := p.Inst.Spec.ImportDataMappings[name]; !mapped {
		return p.Imports.Sensitive[name]
	}
	for _, sensitive := range p.Imports.Sensitive {
		if sensitive {
			return true
		}
	}
	return false
}

// ExportIsSensitive reports whether an export of the Installation is kept in a Secret: blueprint or Installation say so, or a mapping makes it where the
// blueprint has a sensitive export.
func (p *Plan) ExportIsSensitive(export v1alpha1.DataExport) bool {
	_, mapped := p.Inst.Spec.ExportDataMappings[export.Name]
	return export.Sensitive || slices.ContainsFunc(p.Blueprint.Document.Exports, func(definition model.ExportDefinition) bool {
		return definition.Sensitive && (mapped || definition.Name == export.Name)
	})
}

// HasSensitiveExports reports whether what the deploy items export is kept in a Secret, because an export may be made from it that is.
func (p *Plan) HasSensitiveExports() bool {
	return slices.ContainsFunc(p.Inst.Spec.Exports.Data, p.ExportIsSensitive) ||
		slices.ContainsFunc(p.Blueprint.Document.Exports, func(definition model.ExportDefinition) bool { return definition.Sensitive })
}
