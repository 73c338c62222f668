// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
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
	return kit.InstallationScope(ParentOf(inst))
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
			keys = append(keys, "DataObject/"+kit.DataName(scope, data.DataRef))
		}
	}
	for i := range inst.Spec.Imports.Targets {
		for _, name := range TargetNames(&inst.Spec.Imports.Targets[i]) {
			keys = append(keys, "Target/"+kit.DataName(scope, name))
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
		keys = append(keys, "DataObject/"+kit.DataName(scope, inst.Spec.Exports.Data[i].DataRef))
	}
	for i := range inst.Spec.Exports.Targets {
		keys = append(keys, "Target/"+kit.DataName(scope, inst.Spec.Exports.Targets[i].Target))
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
