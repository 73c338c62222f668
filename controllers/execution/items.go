// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// executionIndex finds the DeployItems of an Execution.
const executionIndex = "execution"

// readItems reads the DeployItems of the Execution from the index. It stops while the cache is older than what was written to them last.
func (r *Reconciler) readItems(ctx context.Context, s *scope) error {
	list := &v1alpha1.DeployItemList{}
	err := r.List(ctx, list, client.InNamespace(s.execution.Namespace), client.MatchingFields{executionIndex: s.execution.Name})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if r.items.Stale(&list.Items[i]) {
			return protocol.ErrStop
		}
		s.all = append(s.all, &list.Items[i])
	}
	return nil
}

// pairItems pairs the DeployItems with the templates. It stops while the cache does not show an item that was created.
func (r *Reconciler) pairItems(_ context.Context, s *scope) error {
	s.items, s.orphans = pair(s.execution, s.templates, s.all)
	return r.awaitCreated(s)
}

// pair returns the items that serve a template, by its name, and the orphans, which have to go: those without template, those of another
// type than their template, those in deletion, whoever asked for it, and those of an earlier Execution of this name. Of several items for
// one template the first by name serves. It sorts the given items.
func pair(execution *v1alpha1.Execution, templates []v1alpha1.DeployItemTemplate, items []*v1alpha1.DeployItem) (map[string]*v1alpha1.DeployItem, []*v1alpha1.DeployItem) {
	slices.SortFunc(items, func(a, b *v1alpha1.DeployItem) int { return strings.Compare(a.Name, b.Name) })
	paired, orphans := map[string]*v1alpha1.DeployItem{}, []*v1alpha1.DeployItem(nil)
	known := namesOf(execution, templates)
	for _, item := range items {
		name := known.madeFrom(item)
		template := known.templates[name]
		serves := metav1.IsControlledBy(item, execution) && template != nil && serves(item, template)
		if _, taken := paired[name]; !serves || taken {
			orphans = append(orphans, item)
			continue
		}
		paired[name] = item
	}
	return paired, orphans
}

// serves reports whether an item can be made what the template of its name says. One in deletion cannot come back, and the type of an item
// is immutable, because it names the deployer that has to uninstall: where somebody has changed it the one before counts.
func serves(item *v1alpha1.DeployItem, template *v1alpha1.DeployItemTemplate) bool {
	return item.DeletionTimestamp.IsZero() && deployedType(item) == template.Type
}

// deployedType returns the type of the deployer that ran the last job of an item, or its spec.type where that is not known.
func deployedType(item *v1alpha1.DeployItem) string {
	return cmp.Or(protocol.FormerType(item), item.Spec.Type)
}

// names finds the templates of an Execution by their names, of which there may be thousands.
type names struct {
	execution *v1alpha1.Execution
	templates map[string]*v1alpha1.DeployItemTemplate
	// children has the names of the templates by those of their DeployItems; nil until one is asked for.
	children map[string]string
}

func namesOf(execution *v1alpha1.Execution, templates []v1alpha1.DeployItemTemplate) *names {
	known := &names{execution: execution, templates: make(map[string]*v1alpha1.DeployItemTemplate, len(templates))}
	for i := range templates {
		known.templates[templates[i].Name] = &templates[i]
	}
	return known
}

// madeFrom returns the name of the template that an item was made from. Where somebody has removed the label that says so the name of the item does: nothing
// is uninstalled for a label.
func (n *names) madeFrom(item *v1alpha1.DeployItem) string {
	if name := templateOf(item); name != "" {
		return name
	}
	if n.children == nil {
		n.children = make(map[string]string, len(n.templates))
		for name := range n.templates {
			n.children[storage.ChildName(n.execution.Name, name)] = name
		}
	}
	return n.children[item.Name]
}

// templateOf returns the name of the template that an item was made from, as its label says.
func templateOf(item *v1alpha1.DeployItem) string {
	return item.Labels[v1alpha1.ExecutionManagedNameLabel]
}

// awaitCreated stops while the cache does not show an item that was created.
func (r *Reconciler) awaitCreated(s *scope) error {
	for i := range s.templates {
		if s.items[s.templates[i].Name] != nil {
			continue
		}
		key := client.ObjectKey{Namespace: s.execution.Namespace, Name: storage.ChildName(s.execution.Name, s.templates[i].Name)}
		if wait := r.items.Unseen(key); wait > 0 {
			s.requeue = wait
			return protocol.ErrStop
		}
	}
	return nil
}
