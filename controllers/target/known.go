// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// One object names tens of thousands of others, that nobody has made, and other ones a second later. So an event wakes only what the cache has: whatever
// comes into that later has an event of its own.

// maxAsked is for how many names of an event the cache is asked one by one. For more it is asked once what is in the namespace.
const maxAsked = 100

// usedBy wakes what a DeployItem names.
func (r *Reconciler) usedBy(kind userKind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return r.known(ctx, kind, obj.GetNamespace(), kind.namesOf(obj))
	}
}

// importedBy wakes what an Installation imports; of an update also what it imported before.
func (r *Reconciler) importedBy(kind userKind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return r.known(ctx, kind, obj.GetNamespace(), kind.importsOf(obj))
	}
}

// namedBy wakes what a Target or Context names; of an update also what it named before.
func (r *Reconciler) namedBy(kind contentKind) handler.MapFunc {
	return func(ctx context.Context, obj client.Object) []reconcile.Request {
		return present(obj.GetNamespace(), kind.namesIn(obj), func(key client.ObjectKey) error {
			_, err := kind.content(ctx, r.metadata, key, client.UnsafeDisableDeepCopy)
			return err
		})
	}
}

// known returns requests for those names of which the cache has an object of a kind.
func (r *Reconciler) known(ctx context.Context, kind userKind, namespace string, names []string) []reconcile.Request {
	if len(names) > maxAsked {
		return r.listed(ctx, kind, namespace, names)
	}
	return present(namespace, names, func(key client.ObjectKey) error { return r.Get(ctx, key, kind.make(), client.UnsafeDisableDeepCopy) })
}

func (r *Reconciler) listed(ctx context.Context, kind userKind, namespace string, names []string) []reconcile.Request {
	list := newList(kind)
	if err := r.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find what an object names", "namespace", namespace)
		return nil
	}
	named := make(map[string]bool, len(names))
	for _, name := range names {
		named[name] = true
	}
	var all []string
	for _, object := range kit.ItemsOf(list) {
		if named[object.GetName()] {
			all = append(all, object.GetName())
		}
	}
	return requests(namespace, all)
}

// present leaves out the names of what is known to be missing.
func present(namespace string, names []string, get func(client.ObjectKey) error) []reconcile.Request {
	var all []string
	for _, name := range names {
		if !apierrors.IsNotFound(get(client.ObjectKey{Namespace: namespace, Name: name})) {
			all = append(all, name)
		}
	}
	return requests(namespace, all)
}
