// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// deploys reports whether a deploy item of an Installation, or of one below it, deploys an object that it imports, as the label of the object
// says. What such an import holds is an outcome of the Installation's own jobs, as an own export is.
func (r *Reader) deploys(ctx context.Context, inst *v1alpha1.Installation, object client.Object) (bool, error) {
	name := object.GetLabels()[v1alpha1.ManifestDeployItemLabel]
	if name == "" {
		return false, nil
	}
	item := &v1alpha1.DeployItem{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, item); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	execution := kit.ControllerOf(item, "Execution")
	if execution == nil {
		return false, nil
	}
	// An Execution has the name of its Installation. Owners of others' making may form a circle.
	seen := map[string]bool{}
	for above := execution.Name; above != "" && !seen[above]; {
		if above == inst.Name {
			return true, nil
		}
		seen[above] = true
		current := &v1alpha1.Installation{}
		if err := r.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: above}, current); err != nil {
			return false, client.IgnoreNotFound(err)
		}
		above = relations.ParentOf(current)
	}
	return false, nil
}
