// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
)

// changedContext tells what the Context brought that may end the failure of the last job, be it that of a sub-installation.
func (r *Reconciler) changedContext(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if jobs.FailedBelow(inst) {
		return r.changedBelow(ctx, inst)
	}
	return r.Inputs.ChangedContextOf(ctx, inst)
}

// changedBelow tells the same of the sub-installations at any depth: they fail by themselves, but only their root starts another job.
func (r *Reconciler) changedBelow(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	below, err := r.causesBelow(ctx, inst)
	if err != nil {
		return "", err
	}
	for _, child := range below {
		if reason, err := r.Inputs.ChangedContextOf(ctx, child); reason != "" || err != nil {
			return reason, err
		}
	}
	return "", nil
}

// causesBelow returns the sub-installations at any depth but for those that have failed because of one below them.
func (r *Reconciler) causesBelow(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	var causes []*v1alpha1.Installation
	seen := map[types.UID]bool{inst.UID: true}
	for queue := []*v1alpha1.Installation{inst}; len(queue) > 0; queue = queue[1:] {
		children := &v1alpha1.InstallationList{}
		below := client.MatchingFields{relations.ParentIndex: queue[0].Name}
		if err := r.List(ctx, children, client.InNamespace(inst.Namespace), below, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
		for i := range children.Items {
			child := &children.Items[i]
			if seen[child.UID] || relations.IsListed(queue[0], child) != nil {
				continue
			}
			seen[child.UID] = true
			if jobs.FailedBelow(child) {
				queue = append(queue, child)
				continue
			}
			causes = append(causes, child)
		}
	}
	return causes, nil
}
