// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// DefaultContext keeps the Context default of each namespace, so that Installations find the default component repository without anybody writing a Context
// for each namespace. It owns one field of it, repositoryContext; all others belong to people.
type DefaultContext struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// RepositoryContext is what the field has to hold.
	RepositoryContext v1alpha1.AnyJSON
	// Excluded are the namespaces that are left alone.
	Excluded []string
	// Backoff says when to try again after a failure.
	Backoff *queue.Backoff
}

// SetupWithManager registers the controller. Of namespaces only the metadata is watched.
func (r *DefaultContext) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	isDefault := predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == v1alpha1.DefaultContextName })
	return ctrl.NewControllerManagedBy(mgr).
		Named("default-context").
		For(&corev1.Namespace{}, builder.OnlyMetadata).
		Watches(&v1alpha1.Context{}, handler.EnqueueRequestsFromMapFunc(namespaceOf), builder.WithPredicates(isDefault)).
		WithOptions(queue.Options(concurrency, 0)).
		Complete(r)
}

func namespaceOf(_ context.Context, obj client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: obj.GetNamespace()}}}
}

// Reconcile creates the Context of one namespace, or puts its repositoryContext back.
func (r *DefaultContext) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	err := r.keep(ctx, req.Name)
	if err == nil || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		r.Backoff.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if apierrors.IsAlreadyExists(err) {
		return ctrl.Result{RequeueAfter: r.Backoff.After(req.NamespacedName, err)}, nil
	}
	return r.Backoff.Later(ctx, req.NamespacedName, fmt.Errorf("keep the default Context: %w", err)), nil
}

func (r *DefaultContext) keep(ctx context.Context, namespace string) error {
	wanted, err := r.wanted(ctx, namespace)
	if err != nil || !wanted {
		return err
	}
	present := &v1alpha1.Context{}
	err = r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v1alpha1.DefaultContextName}, present)
	if apierrors.IsNotFound(err) {
		return r.Create(ctx, r.described(namespace))
	}
	if err != nil {
		return err
	}
	return r.restore(ctx, present)
}

// wanted reports whether a namespace is to have the Context: not when it is excluded, gone or about to go.
func (r *DefaultContext) wanted(ctx context.Context, name string) (bool, error) {
	if slices.Contains(r.Excluded, name) {
		return false, nil
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.Get(ctx, client.ObjectKey{Name: name}, namespace)
	return err == nil && namespace.DeletionTimestamp.IsZero(), client.IgnoreNotFound(err)
}

func (r *DefaultContext) described(namespace string) *v1alpha1.Context {
	return &v1alpha1.Context{
		ObjectMeta:           metav1.ObjectMeta{Name: v1alpha1.DefaultContextName, Namespace: namespace},
		ContextConfiguration: v1alpha1.ContextConfiguration{RepositoryContext: &r.RepositoryContext},
	}
}

// restore replaces repositoryContext as a whole and nothing else, unless it is right already.
func (r *DefaultContext) restore(ctx context.Context, present *v1alpha1.Context) error {
	if !present.DeletionTimestamp.IsZero() || present.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return nil
	}
	same, err := storage.SameJSON(present.RepositoryContext, &r.RepositoryContext)
	if err != nil || same {
		return err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": present.UID},
		{"op": "add", "path": "/repositoryContext", "value": &r.RepositoryContext},
	})
	if err != nil {
		return fmt.Errorf("encode the repository context: %w", err)
	}
	return client.IgnoreNotFound(r.Patch(ctx, present, client.RawPatch(types.JSONPatchType, patch)))
}
