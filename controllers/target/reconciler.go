// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package target keeps Targets and Contexts, and the Secrets and ConfigMaps that they name, as long as something deployed through them has to
// be uninstalled: Flux may prune them in the same sync as the Installations that use them. It also shows in the status of Targets whether their
// clusters answer. It promises nothing to others.
package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fairqueue"
)

// Reconciler protects what DeployItems use. It only touches objects that Flux applies: whoever deletes by hand means it.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Shard selects the objects that this process protects. What uses them may be in any.
	Shard kit.Shard
	// Backoff says when to try again after a failure.
	Backoff *kit.Backoff

	// metadata reads Secrets and ConfigMaps from the cache of metadata; Client would ask the API server.
	metadata client.Reader
}

// SetupWithManager registers indexes, watches and the controllers: one for each kind that is protected.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r.metadata = mgr.GetCache()
	options := fairqueue.Options(concurrency, 0)
	for _, kind := range users {
		p := &protector{Reconciler: r, kind: kind}
		blder := ctrl.NewControllerManagedBy(mgr).
			Named(kind.controller).
			For(kind.make(), builder.WithPredicates(kit.BeyondStatus)).
			Watches(&v1alpha1.DeployItem{}, handler.EnqueueRequestsFromMapFunc(waking(kind.namesOf)), builder.WithPredicates(kit.BeyondMetadata)).
			WithOptions(options)
		if kind.importsOf != nil {
			blder = blder.Watches(&v1alpha1.Installation{}, handler.EnqueueRequestsFromMapFunc(waking(kind.importsOf)), builder.WithPredicates(kit.BeyondStatus))
		}
		for _, content := range contents {
			blder = blder.WatchesMetadata(content.make(), handler.EnqueueRequestsFromMapFunc(p.holders(content)), builder.WithPredicates(onlyUnprotected))
		}
		if err := blder.Complete(p); err != nil {
			return fmt.Errorf("set up %s: %w", kind.controller, err)
		}
	}
	for _, kind := range contents {
		err := ctrl.NewControllerManagedBy(mgr).
			Named(kind.controller).
			For(kind.make(), builder.OnlyMetadata, builder.WithPredicates(onlyProtected)).
			Watches(&v1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(waking(kind.namesIn)), builder.WithPredicates(kit.BeyondStatus, notNew)).
			Watches(&v1alpha1.Context{}, handler.EnqueueRequestsFromMapFunc(waking(kind.namesIn)), builder.WithPredicates(notNew)).
			WithOptions(options).
			Complete(&releaser{Reconciler: r, kind: kind})
		if err != nil {
			return fmt.Errorf("set up %s: %w", kind.controller, err)
		}
	}
	return nil
}

// users are the kinds that DeployItems name.
var users = []userKind{
	{"target", targetIndex, targetsOf, func() client.Object { return &v1alpha1.Target{} },
		func() client.ObjectList { return &v1alpha1.TargetList{} }, targetImportsOf},
	{"context-protection", contextIndex, contextOf, func() client.Object { return &v1alpha1.Context{} },
		func() client.ObjectList { return &v1alpha1.ContextList{} }, nil},
}

// contents are the kinds that Targets and Contexts name.
var contents = []contentKind{
	{"secret-protection", "Secret", func() client.Object { return &corev1.Secret{} }},
	{"configmap-protection", "ConfigMap", func() client.Object { return &corev1.ConfigMap{} }},
}

// index registers the indexes.
func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &v1alpha1.Installation{}, importIndex, targetImportsOf); err != nil {
		return fmt.Errorf("index installations by imported target: %w", err)
	}
	for _, kind := range users {
		if err := indexer.IndexField(ctx, &v1alpha1.DeployItem{}, kind.index, kind.namesOf); err != nil {
			return fmt.Errorf("index deploy items by %s: %w", kind.index, err)
		}
		if err := indexer.IndexField(ctx, kind.make(), contentIndex, contentsOf); err != nil {
			return fmt.Errorf("index what deploy items use by content: %w", err)
		}
	}
	return nil
}
