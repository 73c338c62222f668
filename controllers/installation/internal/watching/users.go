// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watching

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// usersOfContext wakes the Installations that may wait for a Context.
func (f Finder) usersOfContext(ctx context.Context, obj client.Object) []reconcile.Request {
	return f.findAll(ctx, inputs.ContextIndex, obj.GetName(), unsettled, client.InNamespace(obj.GetNamespace()))
}

// unsettled keeps the Installations that are at work or have failed: for the others a Context counts with their next job.
func unsettled(inst *v1alpha1.Installation) bool {
	return !inst.Status.IsIdle() || inst.Status.Phase.IsFailed()
}

// usersThroughContext wakes the Installations that may wait for an object that their Context names.
func (f Finder) usersThroughContext(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		return f.throughContext(ctx, kind+"/"+client.ObjectKeyFromObject(obj).String())
	})
}

func (f Finder) throughContext(ctx context.Context, key string) []reconcile.Request {
	list := &v1alpha1.ContextList{}
	if err := f.List(ctx, list, client.MatchingFields{inputs.UsedByContextIndex: key}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Contexts that name an object", "key", key)
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, f.usersOfContext(ctx, &list.Items[i])...)
	}
	return requests
}

// users wakes the Installations that import an object, and workers that wait for the cache to show it.
func (f Finder) users(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		f.Seen(kind, obj)
		requests := f.find(ctx, relations.ImportIndex, kind+"/"+obj.GetName(), client.InNamespace(obj.GetNamespace()))
		if kind == "Secret" || kind == "ConfigMap" {
			requests = append(requests, f.throughContext(ctx, kind+"/"+client.ObjectKeyFromObject(obj).String())...)
			return requests
		}
		return append(requests, f.losers(ctx, obj.GetNamespace(), kind+"/"+obj.GetName())...)
	})
}

// usersOfSource wakes the Installations of all namespaces that name a source.
func (f Finder) usersOfSource(ctx context.Context, obj client.Object) []reconcile.Request {
	return append(f.find(ctx, inputs.SourceIndex, flux.KeyOf(obj)), f.throughContext(ctx, flux.KeyOf(obj))...)
}

// exporters wakes the Installations that export an object.
func (f Finder) exporters(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, obj client.Object) []reconcile.Request {
		return f.find(ctx, relations.ExportIndex, kind+"/"+obj.GetName(), client.InNamespace(obj.GetNamespace()))
	})
}

// losers returns the Installations that wait for an export.
func (f Finder) losers(ctx context.Context, namespace, key string) []reconcile.Request {
	return f.findAll(ctx, relations.ExportIndex, key, jobs.LostToRival, client.InNamespace(namespace))
}

func (f Finder) find(ctx context.Context, field, key string, opts ...client.ListOption) []reconcile.Request {
	return f.findAll(ctx, field, key, everybody, opts...)
}

func everybody(*v1alpha1.Installation) bool { return true }

// findAll returns the Installations of an index entry that keep wants.
func (f Finder) findAll(
	ctx context.Context, field, key string, keep func(*v1alpha1.Installation) bool, opts ...client.ListOption,
) []reconcile.Request {
	return f.list(ctx, keep, append(opts, client.MatchingFields{field: key})...)
}

// list returns the Installations of a list that keep wants.
func (f Finder) list(ctx context.Context, keep func(*v1alpha1.Installation) bool, opts ...client.ListOption) []reconcile.Request {
	list := &v1alpha1.InstallationList{}
	if err := f.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the installations that an event concerns", "by", opts)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		if keep(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
