// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// SetupWithManager registers indexes, watches and the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	r.restored = queue.NewRestorations()
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.DeployItem{}, executionIndex, executionOf); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Execution{}).
		Watches(&v1alpha1.DeployItem{}, protocol.WakeController("Execution")).
		Watches(&v1alpha1.Installation{}, handler.EnqueueRequestsFromMapFunc(deletedParent)).
		WithOptions(queue.Options(concurrency, 0)).
		Complete(r)
}

// executionOf indexes DeployItems by the Execution that controls them.
func executionOf(obj client.Object) []string {
	owner := protocol.ControllerOf(obj, "Execution")
	if owner == nil {
		return nil
	}
	return []string{owner.Name}
}

// deletedParent wakes the Execution of an Installation in deletion: it takes its deletion job from there.
func deletedParent(_ context.Context, obj client.Object) []reconcile.Request {
	if obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}}
}
