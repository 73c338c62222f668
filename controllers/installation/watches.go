// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
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
	var refused []client.Object
	for _, kind := range kinds {
		missing, err := missingRight(ctx, c, kind, namespace)
		if err != nil {
			return nil, err
		}
		if missing != "" {
			refused = append(refused, kind)
			ctrl.Log.WithName("installation").Error(nil, "the controller may not "+missing+": Installations do not notice by themselves when "+
				"sources of this kind change; all other kinds work. Grant get, list and watch and restart the controller")
		}
	}
	return refused, nil
}

// missingRight returns what a watch of a kind lacks, as verb and resource; "" when nothing.
func missingRight(ctx context.Context, c client.Client, kind client.Object, namespace string) (string, error) {
	gvk, err := apiutil.GVKForObject(kind, c.Scheme())
	if err != nil {
		return "", fmt.Errorf("find the kind of a source: %w", err)
	}
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "", fmt.Errorf("find the resource of %s: %w", gvk.Kind, err)
	}
	for _, verb := range []string{"list", "watch"} {
		allowed, err := mayI(ctx, c, verb, mapping.Resource.GroupResource(), namespace)
		if err != nil || !allowed {
			return verb + " " + mapping.Resource.GroupResource().String(), err
		}
	}
	return "", nil
}

func mayI(ctx context.Context, c client.Client, verb string, resource schema.GroupResource, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource,
		},
	}}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("find out whether this process may %s %s: %w", verb, resource, err)
	}
	return review.Status.Allowed, nil
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
