// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// flowing is a template that imports and exports data.
func flowing(name string, imports, exports []string) model.InstallationTemplate {
	template := model.InstallationTemplate{Name: name}
	for _, ref := range imports {
		template.Imports.Data = append(template.Imports.Data, v1alpha1.DataImport{Name: ref, DataRef: ref})
	}
	for _, ref := range exports {
		template.Exports.Data = append(template.Exports.Data, v1alpha1.DataExport{Name: ref, DataRef: ref})
	}
	return template
}

// reaching is a template that imports Targets and exports one.
func reaching(name, exported string, imports ...v1alpha1.TargetImport) model.InstallationTemplate {
	template := model.InstallationTemplate{Name: name}
	template.Imports.Targets = imports
	if exported != "" {
		template.Exports.Targets = []v1alpha1.TargetExport{{Name: exported, Target: exported}}
	}
	return template
}

func TestE06ProducersComeFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		templates []model.InstallationTemplate
		want      []string
	}{
		"nothing": {},
		"no flow keeps the order": {
			[]model.InstallationTemplate{flowing("c", nil, nil), flowing("a", nil, nil), flowing("b", nil, nil)}, []string{"c", "a", "b"},
		},
		"consumer listed first": {
			[]model.InstallationTemplate{flowing("a", []string{"x"}, nil), flowing("b", nil, []string{"x"})}, []string{"b", "a"},
		},
		"chain backwards": {
			[]model.InstallationTemplate{flowing("a", []string{"y"}, nil), flowing("b", []string{"x"}, []string{"y"}), flowing("c", nil, []string{"x"})},
			[]string{"c", "b", "a"},
		},
		"import of the parent": {
			[]model.InstallationTemplate{flowing("a", []string{"of the parent"}, nil), flowing("b", nil, nil)}, []string{"a", "b"},
		},
		"the same export twice over": {
			[]model.InstallationTemplate{flowing("a", []string{"x", "y"}, nil), flowing("b", nil, []string{"x", "y"})}, []string{"b", "a"},
		},
		"targets": {
			[]model.InstallationTemplate{
				reaching("one", "", v1alpha1.TargetImport{Target: "t"}), reaching("list", "", v1alpha1.TargetImport{Targets: []string{"t"}}),
				reaching("map", "", v1alpha1.TargetImport{TargetMap: map[string]string{"k": "t"}}), reaching("maker", "t"),
			},
			[]string{"maker", "one", "list", "map"},
		},
		"data and targets of one name": {
			[]model.InstallationTemplate{flowing("a", []string{"x"}, nil), reaching("b", "x")}, []string{"a", "b"},
		},
		"a cycle stays as it is": {
			[]model.InstallationTemplate{flowing("a", []string{"y"}, []string{"x"}), flowing("b", []string{"x"}, []string{"y"}), flowing("c", nil, nil)},
			[]string{"c", "a", "b"},
		},
		"from itself": {[]model.InstallationTemplate{flowing("a", []string{"x"}, []string{"x"})}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, template := range ProducersFirst(tc.templates) {
				names = append(names, template.Name)
			}
			assert.Equal(t, tc.want, names)
		})
	}
}
