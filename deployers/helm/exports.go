// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/exports"
)

// exportValues evaluates the exports that name no object: their paths select from what the chart's templates see.
func (j *job) exportValues(ctx context.Context) (resources.Progress, error) {
	wanted := slices.DeleteFunc(j.config.AllExports(), func(export managedresource.Export) bool { return export.FromResource != nil })
	if len(wanted) == 0 {
		return resources.Progress{}, nil
	}
	document, err := j.engine.Values(ctx, j.rendering())
	if err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	found := map[string]any{}
	for _, export := range wanted {
		if err := ctx.Err(); err != nil {
			return resources.Progress{}, err
		}
		if err := exportValue(found, document, export); err != nil {
			return resources.Progress{}, err
		}
	}
	j.attempt.values = found
	return resources.Progress{}, nil
}

func exportValue(into, document map[string]any, export managedresource.Export) error {
	value, ok, err := exports.Value(document, export.JSONPath)
	if err != nil {
		return err
	}
	if !ok {
		return kit.Stall("ReadExports", "ExportNotFound",
			"export %s: the values of the chart have nothing at %s; correct jsonPath, or name the object in fromResource", export.Key, export.JSONPath)
	}
	return exports.Nest(into, export.Key, value)
}

// exportFromResources reads the exports that name an object.
func (j *job) exportFromResources(ctx context.Context) (resources.Progress, error) {
	found, progress, err := exports.Export(ctx, j.session(), j.config.AllExports())
	if err != nil || !progress.Done() {
		return progress, err
	}
	if j.exports, err = merged(j.exports, found); err != nil {
		return resources.Progress{}, err
	}
	return resources.Progress{}, nil
}

// merged returns a new map with the nested content of both.
func merged(a, b map[string]any) (map[string]any, error) {
	if a == nil || b == nil {
		if a == nil {
			return b, nil
		}
		return a, nil
	}
	result := make(map[string]any, len(a)+len(b))
	maps.Copy(result, a)
	for key, value := range b {
		present, ok := result[key]
		if !ok {
			result[key] = value
			continue
		}
		left, isLeft := present.(map[string]any)
		right, isRight := value.(map[string]any)
		if !isLeft || !isRight {
			return nil, kit.Coded(kit.Stall("ReadExports", "ExportConflict",
				"exports: two of them write to %s; give every export a key of its own", key), v1alpha1.ErrorConfigurationProblem)
		}
		inner, err := merged(left, right)
		if err != nil {
			return nil, err
		}
		result[key] = inner
	}
	return result, nil
}
