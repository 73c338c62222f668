// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// lostItem returns the name of the first template whose DeployItem is gone or in deletion; "" when there is none. Only what the last job of an
// idle Execution applied, and applied well, can get lost.
func lostItem(execution *v1alpha1.Execution, templates []v1alpha1.DeployItemTemplate, items []*v1alpha1.DeployItem) string {
	status := &execution.Status
	if !status.IsIdle() || status.Phase != v1alpha1.PhaseSucceeded || execution.Generation != status.ObservedGeneration {
		return ""
	}
	for i := range templates {
		name := templates[i].Name
		if !slices.ContainsFunc(items, func(item *v1alpha1.DeployItem) bool {
			return templateOf(item) == name && item.DeletionTimestamp.IsZero()
		}) {
			return name
		}
	}
	return ""
}

// showLoss shows that a DeployItem was deleted since the last job, or takes that back.
func (r *Reconciler) showLoss(ctx context.Context, s *scope) (lost bool, err error) {
	ready := conditions.Get(s.execution, meta.ReadyCondition)
	before := ready != nil && ready.Reason == kit.ReasonChildLost
	if r.readTemplates(ctx, s) != nil {
		return false, nil // the last job says so, or the next one will
	}
	name := lostItem(s.execution, s.templates, s.all)
	if name != "" && !before {
		there, err := r.isThere(ctx, s.execution, name)
		if err != nil || there {
			return false, err
		}
	}
	switch {
	case name != "":
		kit.ShowFailure(s.execution, &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: kit.ReasonChildLost, Err: fmt.Errorf(
			"deploy item %s of execution %s was deleted, and what it had deployed may be gone or left behind: annotate the root %s=reconcile to "+
				"deploy it again", name, s.execution.Name, v1alpha1.OperationAnnotation)})
	case before:
		conditions.Delete(s.execution, meta.StalledCondition)
		conditions.MarkTrue(s.execution, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", succeededMessage)
	}
	return name != "", nil
}

// isThere asks the API server whether a template has a DeployItem that nobody has deleted: the cache may be behind.
func (r *Reconciler) isThere(ctx context.Context, execution *v1alpha1.Execution, name string) (bool, error) {
	list := &v1alpha1.DeployItemList{}
	err := r.Live.List(ctx, list, client.InNamespace(execution.Namespace), client.MatchingLabels{
		v1alpha1.ExecutionManagedByLabel: execution.Name, v1alpha1.ExecutionManagedNameLabel: name,
	})
	return slices.ContainsFunc(list.Items, func(item v1alpha1.DeployItem) bool {
		return metav1.IsControlledBy(&item, execution) && item.DeletionTimestamp.IsZero()
	}), err
}
