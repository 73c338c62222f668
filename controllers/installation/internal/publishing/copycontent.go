// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

// wantedCopies returns the copies of all imports of the blueprint, always in the same order.
func wantedCopies(p *plan.Plan) ([]client.Object, error) {
	copies, err := dataCopies(p)
	if err != nil {
		return nil, err
	}
	err = eachTarget(p.Values, func(target render.Target, name, key string, labels map[string]string) error {
		object, err := targetCopy(p, target, name, key, labels)
		copies = append(copies, object)
		return err
	})
	return copies, err
}

// eachTarget visits every imported Target with the name of its import, the key of its copy and the labels that tell its place in a list or
// map.
func eachTarget(values *render.Values, visit func(target render.Target, name, key string, labels map[string]string) error) error {
	for _, name := range slices.Sorted(maps.Keys(values.Targets)) {
		if err := visit(values.Targets[name], name, name, nil); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values.TargetLists)) {
		for i, target := range values.TargetLists[name] {
			position := strconv.Itoa(i)
			if err := visit(target, name, name+"["+position+"]", map[string]string{v1alpha1.DataObjectIndexLabel: position}); err != nil {
				return err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values.TargetMaps)) {
		for _, key := range slices.Sorted(maps.Keys(values.TargetMaps[name])) {
			labels := map[string]string{v1alpha1.DataObjectTargetMapKeyLabel: key}
			if err := visit(values.TargetMaps[name][key], name, name+"["+key+"]", labels); err != nil {
				return err
			}
		}
	}
	return nil
}

func dataCopies(p *plan.Plan) ([]client.Object, error) {
	var copies []client.Object
	values := p.Values.DataImports(p.Blueprint.Document)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		raw, err := json.Marshal(values[name])
		if err != nil {
			return nil, fmt.Errorf("encode import %q: %w", name, err)
		}
		data := v1alpha1.NewAnyJSON(raw)
		object := &v1alpha1.DataObject{ObjectMeta: copyMeta(p.Inst, name, name, nil, kit.DataHash(data)), Data: data}
		if p.ImportIsSensitive(name) {
			sensitive.Mark(object)
		}
		copies = append(copies, object)
	}
	return copies, nil
}

func targetCopy(p *plan.Plan, target render.Target, name, key string, labels map[string]string) (client.Object, error) {
	original := p.Imports.Targets[target.Name]
	spec := original.Spec
	spec.HealthCheck = nil // that of the original says it for all
	raw, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode target import %q: %w", name, err)
	}
	object := &v1alpha1.Target{ObjectMeta: copyMeta(p.Inst, name, key, labels, kit.DataHash(v1alpha1.NewAnyJSON(raw))), Spec: spec}
	object.Annotations[v1alpha1.OriginalTargetAnnotation] = v1alpha1.OriginalName(original)
	data.CopyMissing(object.Labels, original.Labels)
	data.CopyMissing(object.Annotations, original.Annotations)
	return object, nil
}

func copyMeta(inst *v1alpha1.Installation, name, key string, labels map[string]string, hash string) metav1.ObjectMeta {
	meta := metaOf(inst, v1alpha1.DataObjectSourceImport, kit.InstallationScope(inst.Name), key, hash)
	meta.Labels[v1alpha1.DataObjectKeyLabel] = name
	maps.Copy(meta.Labels, labels)
	return meta
}
