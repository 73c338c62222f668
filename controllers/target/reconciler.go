// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package target keeps Targets, and the Secrets that they name, as long as something deployed through them has to be uninstalled:
// Flux may prune them in the same sync as the Installations that use them.
package target

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// Indexes find the DeployItems that use a Target and the Targets that use a Secret.
const (
	targetIndex = "target"
	secretIndex = "secret"
)

// ownerLabels are set by Flux on everything that it may prune.
var ownerLabels = []string{"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"}

// Reconciler protects Targets in use. It only touches objects that Flux applies: whoever deletes by hand means it.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Backoff says when to try again after a failure.
	Backoff *kit.Backoff
}

// SetupWithManager registers indexes, watches and the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.DeployItem{}, targetIndex, targetOf); err != nil {
		return fmt.Errorf("index deploy items by target: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Target{}, secretIndex, secretOf); err != nil {
		return fmt.Errorf("index targets by secret: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Target{}).
		Watches(&v1alpha1.DeployItem{}, handler.EnqueueRequestsFromMapFunc(targetOfItem)).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// Reconcile adds the finalizer to a Target in use, and removes it from one in deletion that nothing uses any more.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	target := &v1alpha1.Target{}
	if err := r.Get(ctx, req.NamespacedName, target); err != nil {
		r.Backoff.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	protected := slices.Contains(target.Finalizers, v1alpha1.InUseFinalizer)
	if !protected && !prunable(target) {
		return ctrl.Result{}, nil
	}
	err := r.settle(ctx, target, protected)
	if err = client.IgnoreNotFound(err); err == nil {
		r.Backoff.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	delay := r.Backoff.After(req.NamespacedName, err)
	if kit.IsTransient(err) {
		err = nil
	}
	return ctrl.Result{RequeueAfter: delay}, err
}

func (r *Reconciler) settle(ctx context.Context, target *v1alpha1.Target, protected bool) error {
	used, err := r.inUse(ctx, target)
	if err != nil {
		return err
	}
	deleting := !target.DeletionTimestamp.IsZero()
	switch {
	case used && !deleting && !protected:
		return r.protect(ctx, target)
	case !used && deleting && protected:
		return r.release(ctx, target)
	}
	return nil
}

// inUse tells whether a DeployItem names the Target.
func (r *Reconciler) inUse(ctx context.Context, target *v1alpha1.Target) (bool, error) {
	items := &v1alpha1.DeployItemList{}
	err := r.List(ctx, items, client.InNamespace(target.Namespace), client.MatchingFields{targetIndex: target.Name},
		client.UnsafeDisableDeepCopy, client.Limit(1))
	return len(items.Items) > 0, err
}

// protect secures the Secret before the Target, so that a protected Target always has its content.
func (r *Reconciler) protect(ctx context.Context, target *v1alpha1.Target) error {
	secret, err := r.secret(ctx, target)
	if err != nil {
		return err
	}
	change := kit.MetadataChange{AddFinalizer: v1alpha1.InUseFinalizer}
	if secret != nil && prunable(secret) && secret.DeletionTimestamp.IsZero() {
		if err := kit.PatchMetadata(ctx, r.Client, secret, change); err != nil {
			return err
		}
	}
	return kit.PatchMetadata(ctx, r.Client, target, change)
}

// release lets the Target go, and its Secret unless another protected Target names it.
func (r *Reconciler) release(ctx context.Context, target *v1alpha1.Target) error {
	secret, err := r.secret(ctx, target)
	if err != nil {
		return err
	}
	change := kit.MetadataChange{RemoveFinalizer: v1alpha1.InUseFinalizer}
	shared, err := r.shared(ctx, target)
	if err != nil {
		return err
	}
	if secret != nil && !shared {
		if err := kit.PatchMetadata(ctx, r.Client, secret, change); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return kit.PatchMetadata(ctx, r.Client, target, change)
}

// secret returns the metadata of the Secret that the Target names, nil when there is none.
func (r *Reconciler) secret(ctx context.Context, target *v1alpha1.Target) (*metav1.PartialObjectMetadata, error) {
	if target.Spec.SecretRef == nil {
		return nil, nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := r.Get(ctx, client.ObjectKey{Namespace: target.Namespace, Name: target.Spec.SecretRef.Name}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	return secret, nil
}

// shared tells whether another protected Target names the same Secret.
func (r *Reconciler) shared(ctx context.Context, target *v1alpha1.Target) (bool, error) {
	if target.Spec.SecretRef == nil {
		return false, nil
	}
	list := &v1alpha1.TargetList{}
	err := r.List(ctx, list, client.InNamespace(target.Namespace), client.MatchingFields{secretIndex: target.Spec.SecretRef.Name})
	return slices.ContainsFunc(list.Items, func(other v1alpha1.Target) bool {
		return other.Name != target.Name && slices.Contains(other.Finalizers, v1alpha1.InUseFinalizer)
	}), err
}

// prunable tells whether Flux applies an object.
func prunable(obj client.Object) bool {
	return slices.ContainsFunc(ownerLabels, func(label string) bool { return obj.GetLabels()[label] != "" })
}

func targetOf(obj client.Object) []string {
	if item, ok := obj.(*v1alpha1.DeployItem); ok && item.Spec.Target != nil && item.Spec.Target.Name != "" {
		return []string{item.Spec.Target.Name}
	}
	return nil
}

func secretOf(obj client.Object) []string {
	if target, ok := obj.(*v1alpha1.Target); ok && target.Spec.SecretRef != nil {
		return []string{target.Spec.SecretRef.Name}
	}
	return nil
}

// targetOfItem wakes the Target of a DeployItem.
func targetOfItem(_ context.Context, obj client.Object) []reconcile.Request {
	names := targetOf(obj)
	if len(names) == 0 {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: obj.GetNamespace(), Name: names[0]}}}
}
