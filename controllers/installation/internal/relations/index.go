// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// Indexes find Installations by what they are related through.
const (
	// ImportIndex is by the objects that they import, as kind/name.
	ImportIndex = "import"
	// ExportIndex is by the objects that they export, as kind/name.
	ExportIndex = "export"
	// ParentIndex is by the name of their parent.
	ParentIndex = "parent"
)

// Index registers the indexes of this package.
func Index(ctx context.Context, indexer client.FieldIndexer) error {
	for field, index := range map[string]client.IndexerFunc{ImportIndex: ImportsOf, ExportIndex: ExportsOf, ParentIndex: ParentsOf} {
		if err := indexer.IndexField(ctx, &v1alpha1.Installation{}, field, index); err != nil {
			return fmt.Errorf("index installations by %s: %w", field, err)
		}
	}
	for _, object := range []client.Object{&v1alpha1.DataObject{}, &v1alpha1.Target{}} {
		for field, index := range map[string]client.IndexerFunc{ScopeIndex: ScopeOfData, ExporterIndex: ExportedBy} {
			if err := indexer.IndexField(ctx, object, field, index); err != nil {
				return fmt.Errorf("index data by %s: %w", field, err)
			}
		}
	}
	return nil
}

// ObjectOfKey returns an empty object of the kind, and the name, that a key of the import or export index stands for.
func ObjectOfKey(key string) (client.Object, string) {
	kind, name, _ := strings.Cut(key, "/")
	if kind == "Target" {
		return &v1alpha1.Target{}, name
	}
	return &v1alpha1.DataObject{}, name
}

// ScopeOf returns the scope in which an Installation looks its imports up: that of its parent.
func ScopeOf(inst *v1alpha1.Installation) string {
	if inst.IsRoot() {
		return ""
	}
	return storage.InstallationScope(ParentOf(inst))
}

// ImportsOf indexes Installations by the objects of their namespace that they import.
func ImportsOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	var keys []string
	scope := ScopeOf(inst)
	for i := range inst.Spec.Imports.Data {
		switch data := &inst.Spec.Imports.Data[i]; {
		case data.SecretRef != nil:
			keys = append(keys, "Secret/"+data.SecretRef.Name)
		case data.ConfigMapRef != nil:
			keys = append(keys, "ConfigMap/"+data.ConfigMapRef.Name)
		default:
			keys = append(keys, "DataObject/"+storage.DataName(scope, data.DataRef))
		}
	}
	for i := range inst.Spec.Imports.Targets {
		for _, name := range TargetNames(&inst.Spec.Imports.Targets[i]) {
			keys = append(keys, "Target/"+storage.DataName(scope, name))
		}
	}
	return keys
}

// TargetNames returns the names of the Targets that an import names itself.
func TargetNames(target *v1alpha1.TargetImport) []string {
	if target.Target != "" {
		return []string{target.Target}
	}
	names := append([]string(nil), target.Targets...)
	for _, name := range target.TargetMap {
		names = append(names, name)
	}
	return names
}

// InDeletion keeps the Installations that are being deleted.
func InDeletion(inst *v1alpha1.Installation) bool { return !inst.DeletionTimestamp.IsZero() }

// ParentOf returns the name of the Installation that an Installation names as its owner, empty for roots.
func ParentOf(inst *v1alpha1.Installation) string {
	if owner := inst.ParentReference(); owner != nil {
		return owner.Name
	}
	return ""
}

// ExportsOf indexes Installations by the objects of their namespace that they export.
func ExportsOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok {
		return nil
	}
	var keys []string
	scope := ScopeOf(inst)
	for i := range inst.Spec.Exports.Data {
		keys = append(keys, "DataObject/"+storage.DataName(scope, inst.Spec.Exports.Data[i].DataRef))
	}
	for i := range inst.Spec.Exports.Targets {
		keys = append(keys, "Target/"+storage.DataName(scope, inst.Spec.Exports.Targets[i].Target))
	}
	return keys
}

// ParentsOf indexes Installations by the Installation that owns them.
func ParentsOf(obj client.Object) []string {
	if inst, ok := obj.(*v1alpha1.Installation); ok {
		if parent := ParentOf(inst); parent != "" {
			return []string{parent}
		}
	}
	return nil
}

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
