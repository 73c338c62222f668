// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// plan is what a job is going to make.
type plan struct {
	values      *render.Imports
	deployItems []v1alpha1.DeployItemTemplate
}

// renderPlan computes the plan from blueprint and imports. It reads nothing and writes nothing.
func (r *Reconciler) renderPlan(ctx context.Context, s *scope) error {
	if s.applied() {
		return nil
	}
	values, err := render.Satisfy(s.blueprint.document, s.blueprint.files, s.imports)
	if err != nil {
		return kit.Stall(importOperation, "ImportNotSatisfied", "%w", err)
	}
	items, err := render.DeployItems(ctx, s.blueprint.document, s.blueprint.files, values)
	if err != nil {
		return kit.Stall("Render", "RenderFailed", "%w", err)
	}
	s.plan = &plan{values: values, deployItems: items}
	return nil
}

// encodeJSON writes a value without escaping HTML, so that the text is what a user reads in the object.
func encodeJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
