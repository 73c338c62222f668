// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
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
	if !p.Shard.Has(object) || !isProtected(object) && !protocol.IsOwnedByFlux(object) {
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
func ended(ctx context.Context, backoff *queue.Backoff, req ctrl.Request, err error) ctrl.Result {
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
		return protocol.PatchMetadata(ctx, p.Client, object, protocol.MetadataChange{RemoveFinalizer: v1alpha1.InUseFinalizer})
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
	change := protocol.MetadataChange{AddFinalizer: v1alpha1.InUseFinalizer}
	for _, kind := range contents {
		for _, name := range kind.namesIn(object) {
			content, err := kind.content(ctx, p.Client, client.ObjectKey{Namespace: object.GetNamespace(), Name: name})
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return err
			}
			if !protocol.IsOwnedByFlux(content) || !content.GetDeletionTimestamp().IsZero() {
				continue
			}
			if err := protocol.PatchMetadata(ctx, p.Client, content, change); client.IgnoreNotFound(err) != nil {
				return err
			}
		}
	}
	return protocol.PatchMetadata(ctx, p.Client, object, change)
}

// isProtected reports whether an object has the finalizer.
func isProtected(obj client.Object) bool {
	return slices.Contains(obj.GetFinalizers(), v1alpha1.InUseFinalizer)
}

// contentKind is a kind that Targets and Contexts name.
type contentKind struct {
	// controller is the name of the one that releases it.
	controller string
	name       string
	make       func() client.Object
}

// namesIn returns the objects of the kind that a Target or Context names.
func (k contentKind) namesIn(object client.Object) []string {
	var names []string
	for _, key := range contentsOf(object) {
		if name, ok := strings.CutPrefix(key, k.name+"/"); ok {
			names = append(names, name)
		}
	}
	return names
}

// onlyProtected passes on the events of objects with the finalizer.
var onlyProtected = predicate.NewPredicateFuncs(isProtected)

// onlyUnprotected passes on the events of objects that may have to be protected.
var onlyUnprotected = predicate.NewPredicateFuncs(func(obj client.Object) bool {
	return protocol.IsOwnedByFlux(obj) && !isProtected(obj) && obj.GetDeletionTimestamp().IsZero()
})

// notNew passes on all events but those of new objects: no Secret or ConfigMap can be let go because one more names it.
var notNew = predicate.Funcs{CreateFunc: func(event.CreateEvent) bool { return false }}

// releaser lets the objects of one kind go that no protected Target or Context names any more.
type releaser struct {
	*Reconciler
	kind contentKind
}

// Reconcile removes the finalizer from a Secret or ConfigMap that nobody holds. It reads from the cache, because the event of every Target
// that names one comes here.
func (r *releaser) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	object, err := r.kind.content(ctx, r.metadata, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(object) || !isProtected(object) {
		return ctrl.Result{}, nil
	}
	held, err := r.held(ctx, object)
	if err == nil && !held {
		err = protocol.PatchMetadata(ctx, r.Client, object, protocol.MetadataChange{RemoveFinalizer: v1alpha1.InUseFinalizer})
	}
	return ended(ctx, r.Backoff, req, err), nil
}

// content reads the metadata of a Secret or ConfigMap.
func (k contentKind) content(ctx context.Context, reader client.Reader, key client.ObjectKey) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(k.name))
	return object, reader.Get(ctx, key, object)
}

// held reports whether a Target or Context names an object and is protected, or about to be: that is done after the object.
func (r *releaser) held(ctx context.Context, object client.Object) (bool, error) {
	for _, kind := range users {
		holders, err := naming(ctx, r, kind, r.kind, object)
		if err != nil {
			return false, err
		}
		for _, holder := range holders {
			if held, err := r.holds(ctx, kind, holder); held || err != nil {
				return held, err
			}
		}
	}
	return false, nil
}

func (r *releaser) holds(ctx context.Context, kind userKind, holder client.Object) (bool, error) {
	if isProtected(holder) || !protocol.IsOwnedByFlux(holder) || !holder.GetDeletionTimestamp().IsZero() {
		return isProtected(holder), nil
	}
	return r.inUse(ctx, kind, holder)
}

// naming returns the objects of a kind that name a Secret or ConfigMap. They are shared with the cache and must not be changed.
func naming(ctx context.Context, c client.Reader, kind userKind, content contentKind, object client.Object) ([]client.Object, error) {
	list := kind.list()
	key := client.MatchingFields{contentIndex: content.name + "/" + object.GetName()}
	err := c.List(ctx, list, client.InNamespace(object.GetNamespace()), key, client.UnsafeDisableDeepCopy)
	return protocol.ItemsOf(list), err
}
