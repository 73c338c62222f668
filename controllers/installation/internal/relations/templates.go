// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// StillExports reports whether a template exports something that the orphan exports too.
func StillExports(orphan *v1alpha1.Installation, templates []model.InstallationTemplate) bool {
	exported := map[string]bool{}
	for _, export := range orphan.Spec.Exports.Data {
		exported["DataObject/"+export.DataRef] = true
	}
	for _, export := range orphan.Spec.Exports.Targets {
		exported["Target/"+export.Target] = true
	}
	return slices.ContainsFunc(templates, func(template model.InstallationTemplate) bool {
		return slices.ContainsFunc(template.Exports.Data, func(e v1alpha1.DataExport) bool { return exported["DataObject/"+e.DataRef] }) ||
			slices.ContainsFunc(template.Exports.Targets, func(e v1alpha1.TargetExport) bool { return exported["Target/"+e.Target] })
	})
}

// ProducersFirst returns templates in an order in which each comes after those that it imports from, and otherwise as they are: a
// sub-installation that starts always finds the siblings for which it has to wait.
func ProducersFirst(templates []model.InstallationTemplate) []model.InstallationTemplate {
	exporters := map[string]int{}
	for i := range templates {
		for _, key := range exportsOfTemplate(&templates[i]) {
			exporters[key] = i
		}
	}
	waiting, consumers := make([]int, len(templates)), make([][]int, len(templates))
	for i := range templates {
		for _, key := range importsOfTemplate(&templates[i]) {
			if producer, ok := exporters[key]; ok && producer != i {
				waiting[i]++
				consumers[producer] = append(consumers[producer], i)
			}
		}
	}
	return sortedBy(templates, waiting, consumers)
}

// sortedBy takes templates that wait for none as long as there are any, and appends what is left: that is a cycle. It changes waiting.
func sortedBy(templates []model.InstallationTemplate, waiting []int, consumers [][]int) []model.InstallationTemplate {
	sorted, taken := make([]model.InstallationTemplate, 0, len(templates)), make([]bool, len(templates))
	var queue []int
	for i := range templates {
		if waiting[i] == 0 {
			queue = append(queue, i)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		sorted, taken[queue[0]] = append(sorted, templates[queue[0]]), true
		for _, consumer := range consumers[queue[0]] {
			if waiting[consumer]--; waiting[consumer] == 0 {
				queue = append(queue, consumer)
			}
		}
	}
	for i := range templates {
		if !taken[i] {
			sorted = append(sorted, templates[i])
		}
	}
	return sorted
}

func exportsOfTemplate(template *model.InstallationTemplate) []string {
	var keys []string
	for i := range template.Exports.Data {
		keys = append(keys, "DataObject/"+template.Exports.Data[i].DataRef)
	}
	for i := range template.Exports.Targets {
		keys = append(keys, "Target/"+template.Exports.Targets[i].Target)
	}
	return keys
}

func importsOfTemplate(template *model.InstallationTemplate) []string {
	var keys []string
	for i := range template.Imports.Data {
		keys = append(keys, "DataObject/"+template.Imports.Data[i].DataRef)
	}
	for i := range template.Imports.Targets {
		for _, name := range TargetNames(&template.Imports.Targets[i]) {
			keys = append(keys, "Target/"+name)
		}
	}
	return keys
}
