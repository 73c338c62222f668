// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/imports"
)

func TestSensitiveImportsAndExports(t *testing.T) {
	for name, tc := range map[string]struct {
		imports         []model.ImportDefinition
		exports         []model.ExportDefinition
		read            map[string]bool
		mapped          bool
		export          bool
		isImport, isOut bool
	}{
		"nothing says it":                            {},
		"the blueprint says it of the import":        {imports: []model.ImportDefinition{{Name: "value", Sensitive: true}}, isImport: true},
		"of a conditional import":                    {imports: []model.ImportDefinition{{Name: "a", ConditionalImports: []model.ImportDefinition{{Name: "value", Sensitive: true}}}}, isImport: true},
		"of another import":                          {imports: []model.ImportDefinition{{Name: "a", Sensitive: true}}},
		"the import comes from a Secret":             {read: map[string]bool{"value": true}, isImport: true},
		"another import does":                        {read: map[string]bool{"other": true}},
		"a mapping may use another":                  {read: map[string]bool{"other": true}, mapped: true, isImport: true},
		"the blueprint says it of the export":        {exports: []model.ExportDefinition{{Name: "value", Sensitive: true}}, isOut: true},
		"of another export":                          {exports: []model.ExportDefinition{{Name: "a", Sensitive: true}}},
		"a mapping may use another export":           {exports: []model.ExportDefinition{{Name: "a", Sensitive: true}}, mapped: true, isOut: true},
		"the installation says it of its own export": {export: true, isOut: true},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "value", DataRef: "value", Sensitive: tc.export}}
			if tc.mapped {
				inst.Spec.ImportDataMappings = map[string]v1alpha1.AnyJSON{"value": {}}
				inst.Spec.ExportDataMappings = map[string]v1alpha1.AnyJSON{"value": {}}
			}
			p := &Plan{Inst: inst, Inputs: inputs.Inputs{
				Blueprint: &inputs.Blueprint{Document: &model.Blueprint{Imports: tc.imports, Exports: tc.exports}},
				Imports:   &imports.Collected{Sensitive: tc.read},
			}}
			assert.Equal(t, tc.isImport, p.ImportIsSensitive("value"))
			assert.Equal(t, tc.isOut, p.ExportIsSensitive(inst.Spec.Exports.Data[0]))
			assert.Equal(t, len(tc.exports) > 0 || tc.export, p.HasSensitiveExports())
		})
	}
}
