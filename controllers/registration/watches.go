// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fairqueue"
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	made := predicate.NewPredicateFuncs(r.Homes.Holds)
	return ctrl.NewControllerManagedBy(mgr).
		Named("deployerregistration").
		For(&v1alpha1.DeployerRegistration{}).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(environmentChanged)).
		Watches(&v1alpha1.Installation{}, handler.EnqueueRequestsFromMapFunc(ofInstallation), builder.WithPredicates(made)).
		WithOptions(fairqueue.Options(concurrency, 0)).
		Complete(r)
}

// environmentChanged passes what of an Environment a registration shows.
var environmentChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isEnv := e.ObjectOld.(*v1alpha1.Environment)
	now, _ := e.ObjectNew.(*v1alpha1.Environment)
	return !isEnv || before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.Status.Conditions, now.Status.Conditions) ||
		!equality.Semantic.DeepEqual(before.Status.Deployers, now.Status.Deployers)
}}

// all returns every registration.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &v1alpha1.DeployerRegistrationList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the DeployerRegistrations")
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}})
	}
	return requests
}

func ofInstallation(_ context.Context, installation client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: pair.Of(installation).Registration}}}
}
