// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// UnwatchableSources returns the kinds of Flux sources that the cluster serves and that this process may not list or watch, in a namespace
// or with "" in all, and logs what is missing. A forbidden watch would keep every other kind from being served: clients have to read
// these kinds live, and the Reconciler must not watch them. It fails when the API server does not answer.
func UnwatchableSources(ctx context.Context, c client.Client, namespace string) ([]client.Object, error) {
	kinds, err := flux.Available(c.RESTMapper())
	if err != nil {
		return nil, fmt.Errorf("find the kinds of Flux sources: %w", err)
	}
	found, err := flux.FindUnwatchable(ctx, c, kinds, namespace)
	var refused []client.Object
	for _, one := range found {
		refused = append(refused, one.Kind)
		ctrl.Log.WithName("installation").Error(nil, "the controller may not "+one.Missing+": Installations do not notice by themselves when "+
			"sources of this kind change; all other kinds work. Grant get, list and watch and restart the controller")
	}
	return refused, err
}

// watchedSources returns the kinds of Flux sources to watch.
func (r *Reconciler) watchedSources(mgr ctrl.Manager) ([]client.Object, error) {
	kinds, err := flux.Available(mgr.GetRESTMapper())
	if err != nil {
		return nil, fmt.Errorf("find the kinds of Flux sources: %w", err)
	}
	return slices.DeleteFunc(kinds, func(kind client.Object) bool {
		return slices.ContainsFunc(r.UnwatchedSources, func(unwatched client.Object) bool {
			return reflect.TypeOf(unwatched) == reflect.TypeOf(kind)
		})
	}), nil
}

// onlyDeletions passes on that objects are gone.
var onlyDeletions = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return true }, GenericFunc: func(event.GenericEvent) bool { return false },
}

// namesake wakes the Installation that waits for the name of an object.
func namesake(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}}
}
