// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package target keeps Targets and Contexts, and the Secrets and ConfigMaps that they name, as long as something deployed through them has to
// be uninstalled: Flux may prune them in the same sync as the Installations that use them. It also shows in the status of Targets whether their
// clusters answer, and keeps a Context named default in every namespace. It promises nothing to others.
package target

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
)

// Reconciler protects what DeployItems use. It only touches objects that Flux applies: whoever deletes by hand means it.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Shard selects the objects that this process protects. What uses them may be in any.
	Shard protocol.Shard
	// Backoff says when to try again after a failure.
	Backoff *queue.Backoff

	// metadata reads Secrets and ConfigMaps from the cache of metadata; Client would ask the API server.
	metadata client.Reader
}

// SetupWithManager registers indexes, watches and the controllers: one for each kind that is protected.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	r.metadata = mgr.GetCache()
	options := queue.Options(concurrency, 0)
	for _, kind := range users {
		p := &protector{Reconciler: r, kind: kind}
		blder := ctrl.NewControllerManagedBy(mgr).
			Named(kind.controller).
			For(kind.make(), builder.WithPredicates(protocol.BeyondStatus)).
			Watches(&v1alpha1.DeployItem{}, handler.EnqueueRequestsFromMapFunc(waking(kind.namesOf)), builder.WithPredicates(protocol.BeyondMetadata)).
			WithOptions(options)
		if kind.importsOf != nil {
			blder = blder.Watches(&v1alpha1.Installation{}, handler.EnqueueRequestsFromMapFunc(waking(kind.importsOf)), builder.WithPredicates(protocol.BeyondStatus))
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
			Watches(&v1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(waking(kind.namesIn)), builder.WithPredicates(protocol.BeyondStatus, notNew)).
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

// Indexes find the DeployItems that use a Target or Context, the Installations that import a Target, and the Targets and Contexts that name a Secret or ConfigMap.
const (
	targetIndex  = "target"
	contextIndex = "uses-context"
	importIndex  = "target-import"
	contentIndex = "content"
)

// userKind is a kind that DeployItems name.
type userKind struct {
	// controller is the name of the one that protects it.
	controller string
	// index is the field by which DeployItems are found, namesOf what stands there.
	index   string
	namesOf client.IndexerFunc
	make    func() client.Object
	list    func() client.ObjectList
	// importsOf is what an Installation names; nil where Installations name nothing of the kind.
	importsOf client.IndexerFunc
}

// targetImportsOf returns the names of the Targets that a root imports, once it is at work and until everything below it is uninstalled.
// DeployItems of sub-installations name copies of those. A copy vanishes with its namespace, and the original leads to the same cluster.
func targetImportsOf(obj client.Object) []string {
	inst, ok := obj.(*v1alpha1.Installation)
	if !ok || !inst.IsRoot() || !slices.Contains(inst.Finalizers, v1alpha1.Finalizer) {
		return nil
	}
	names := map[string]bool{}
	for i := range inst.Spec.Imports.Targets {
		imported := &inst.Spec.Imports.Targets[i]
		for _, name := range slices.Concat([]string{imported.Target}, imported.Targets, slices.Collect(maps.Values(imported.TargetMap))) {
			if name != "" {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// waking wakes what an object names in its namespace; of an update also what it named before.
func waking(names client.IndexerFunc) handler.MapFunc {
	return func(_ context.Context, obj client.Object) []reconcile.Request {
		return requests(obj.GetNamespace(), names(obj))
	}
}

func requests(namespace string, names []string) []reconcile.Request {
	var all []reconcile.Request
	for _, name := range names {
		all = append(all, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}})
	}
	return all
}

// contextOf returns the name of the Context of a DeployItem.
func contextOf(obj client.Object) []string {
	if item, ok := obj.(*v1alpha1.DeployItem); ok {
		return []string{item.ContextName()}
	}
	return nil
}

// targetsOf returns the names of the Targets of a DeployItem: its own and those that its configuration names.
func targetsOf(obj client.Object) []string {
	item, ok := obj.(*v1alpha1.DeployItem)
	if !ok {
		return nil
	}
	names := map[string]bool{}
	if item.Spec.Target != nil && item.Spec.Target.Name != "" {
		names[item.Spec.Target.Name] = true
	}
	if item.Spec.Configuration != nil {
		for _, found := range secondary.FindAllSubmatch(item.Spec.Configuration.Raw, maxSecondary) {
			names[string(found[1])] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// secondary finds the field of exports, readiness checks and deletion groups that names another Target, anywhere in a configuration. The JSON is not decoded:
// that takes many times its size, for each event of an item, while all who read the cache wait.
var secondary = regexp.MustCompile(`"targetName"\s*:\s*"([^"\\]{1,253})"`)

// maxSecondary is how many such fields of one configuration are looked at.
const maxSecondary = 10_000

// contentsOf returns what a Target or Context names in its namespace, as "kind/name". Pull secrets that no reader of the Context takes do not count.
func contentsOf(obj client.Object) []string {
	var keys []string
	switch object := obj.(type) {
	case *v1alpha1.Target:
		if object.Spec.SecretRef != nil {
			keys = append(keys, "Secret/"+object.Spec.SecretRef.Name)
		}
	case *v1alpha1.Context:
		secrets, _ := pullsecrets.Different(pullsecrets.NamesOf(object.RegistryPullSecrets))
		for _, name := range secrets {
			keys = append(keys, "Secret/"+name)
		}
		if object.OCMConfig != nil {
			keys = append(keys, "ConfigMap/"+object.OCMConfig.Name)
		}
	}
	return keys
}
