// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// protector keeps the objects of one kind that DeployItems and Installations name.
type protector struct {
	*Reconciler
	kind userKind
}

// Reconcile adds the finalizer to an object in use and to what it names, and removes it from one in deletion that nothing uses any more.
func (p *protector) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object := p.kind.make()
	if err := p.Get(ctx, req.NamespacedName, object); err != nil {
		p.Backoff.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !p.Shard.Has(object) || !isProtected(object) && !kit.IsOwnedByFlux(object) {
		return ctrl.Result{}, nil
	}
	return ended(ctx, p.Backoff, req, p.settle(ctx, object)), nil
}

// holders wakes the objects that name a Secret or ConfigMap.
func (p *protector) holders(content contentKind) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		found, err := naming(ctx, p, p.kind, content, object)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find who names an object", "object", client.ObjectKeyFromObject(object))
		}
		var names []string
		for _, holder := range found {
			names = append(names, holder.GetName())
		}
		return requests(object.GetNamespace(), names)
	}
}

// ended turns the error of a reconciliation into back-off.
func ended(ctx context.Context, backoff *kit.Backoff, req ctrl.Request, err error) ctrl.Result {
	if client.IgnoreNotFound(err) == nil {
		backoff.Forget(req.NamespacedName)
		return ctrl.Result{}
	}
	return backoff.Later(ctx, req.NamespacedName, err)
}

func (p *protector) settle(ctx context.Context, object client.Object) error {
	used, err := p.inUse(ctx, p.kind, object)
	if err != nil {
		return err
	}
	deleting := !object.GetDeletionTimestamp().IsZero()
	switch {
	case used && !deleting:
		return p.protect(ctx, object)
	case !used && deleting && isProtected(object):
		return kit.PatchMetadata(ctx, p.Client, object, kit.MetadataChange{RemoveFinalizer: v1alpha1.InUseFinalizer})
	}
	return nil
}

// inUse reports whether a DeployItem names an object, or an Installation imports it.
func (r *Reconciler) inUse(ctx context.Context, kind userKind, object client.Object) (bool, error) {
	items := &v1alpha1.DeployItemList{}
	err := r.List(ctx, items, client.InNamespace(object.GetNamespace()), client.MatchingFields{kind.index: object.GetName()},
		client.UnsafeDisableDeepCopy, client.Limit(1))
	if err != nil || len(items.Items) > 0 || kind.importsOf == nil {
		return len(items.Items) > 0, err
	}
	importers := &v1alpha1.InstallationList{}
	err = r.List(ctx, importers, client.InNamespace(object.GetNamespace()), client.MatchingFields{importIndex: object.GetName()},
		client.UnsafeDisableDeepCopy, client.Limit(1))
	return len(importers.Items) > 0, err
}

// protect secures what an object names before the object itself, so that a protected object always has its content.
func (p *protector) protect(ctx context.Context, object client.Object) error {
	change := kit.MetadataChange{AddFinalizer: v1alpha1.InUseFinalizer}
	for _, kind := range contents {
		for _, name := range kind.namesIn(object) {
			content, err := kind.content(ctx, p.Client, client.ObjectKey{Namespace: object.GetNamespace(), Name: name})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			if !kit.IsOwnedByFlux(content) || !content.GetDeletionTimestamp().IsZero() {
				continue
			}
			if err := kit.PatchMetadata(ctx, p.Client, content, change); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return kit.PatchMetadata(ctx, p.Client, object, change)
}

// isProtected reports whether an object has the finalizer.
func isProtected(obj client.Object) bool {
	return slices.Contains(obj.GetFinalizers(), v1alpha1.InUseFinalizer)
}
