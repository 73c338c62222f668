// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
)

// usersOfContext wakes the Installations that may wait for a Context.
func (r *Reconciler) usersOfContext(ctx context.Context, obj client.Object) []reconcile.Request {
	return r.findAll(ctx, inputs.ContextIndex, obj.GetName(), unsettled, client.InNamespace(obj.GetNamespace()))
}

// unsettled keeps the Installations that are at work or have failed: for the others a Context counts with their next job.
func unsettled(inst *v1alpha1.Installation) bool {
	return !inst.Status.IsIdle() || inst.Status.Phase.IsFailed()
}

// usersThroughContext wakes the Installations that may wait for an object that their Context names.
func (r *Reconciler) usersThroughContext(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		return r.throughContext(ctx, kind+"/"+client.ObjectKeyFromObject(obj).String())
	})
}

func (r *Reconciler) throughContext(ctx context.Context, key string) []reconcile.Request {
	list := &v1alpha1.ContextList{}
	if err := r.List(ctx, list, client.MatchingFields{inputs.UsedByContextIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Contexts that name an object", "key", key)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, r.usersOfContext(ctx, &list.Items[i])...)
	}
	return requests
}
