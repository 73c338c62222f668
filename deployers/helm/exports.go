// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// exportValues evaluates the exports that name no object: their paths select from what the chart's templates see.
func (j *job) exportValues(ctx context.Context) error {
	wanted := slices.DeleteFunc(j.config.AllExports(), func(export managedresource.Export) bool { return export.FromResource != nil })
	if len(wanted) == 0 {
		return nil
	}
	document, err := j.engine.Values(ctx, j.rendering())
	if err != nil {
		return helmProblem(err)
	}
	j.attempt.values = map[string]any{}
	for _, export := range wanted {
		if err := ctx.Err(); err != nil {
			return err
		}
		value, ok, err := resources.ValueAt(document, export.JSONPath)
		if err != nil {
			return err
		}
		if !ok {
			return protocol.Stall("ReadExports", "ExportNotFound",
				"export %s: the values of the chart have nothing at %s; correct jsonPath, or name the object in fromResource", export.Key, export.JSONPath)
		}
		j.attempt.values[export.Key] = value
	}
	return nil
}

// exportFromResources reads the exports that name an object, and adds the others.
func (j *job) exportFromResources(ctx context.Context) error {
	found, progress, err := resources.Export(ctx, j.session(), j.config.AllExports())
	if err := until(progress, err); err != nil {
		return err
	}
	if found == nil && len(j.attempt.values) > 0 {
		found = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(j.attempt.values)) {
		if err := resources.Nest(found, key, runtime.DeepCopyJSONValue(j.attempt.values[key])); err != nil {
			return protocol.Coded(protocol.Stall("ReadExports", "ExportConflict", "%w", err), v1alpha1.ErrorConfigurationProblem)
		}
	}
	j.exports = found
	return nil
}
