// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"maps"
	"regexp"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/pullsecrets"
)

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
