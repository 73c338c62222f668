// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// executionIndex finds the DeployItems of an Execution.
const executionIndex = "execution"

// findItems reads the DeployItems of the Execution from the index and pairs them with the templates. It stops while the
// cache is older than what was written to them last.
func (r *Reconciler) findItems(ctx context.Context, s *scope) error {
	list := &v1alpha1.DeployItemList{}
	err := r.List(ctx, list, client.InNamespace(s.execution.Namespace), client.MatchingFields{executionIndex: s.execution.Name})
	if err != nil {
		return err
	}
	s.items = map[string]*v1alpha1.DeployItem{}
	for i := range list.Items {
		item := &list.Items[i]
		if r.items.Stale(item) {
			return kit.ErrStop
		}
		s.add(item)
	}
	slices.SortFunc(s.orphans, func(a, b *v1alpha1.DeployItem) int { return strings.Compare(a.Name, b.Name) })
	return r.awaitCreated(s)
}

func (s *scope) add(item *v1alpha1.DeployItem) {
	name := item.Labels[v1alpha1.ExecutionManagedNameLabel]
	wanted := slices.ContainsFunc(s.templates, func(t v1alpha1.DeployItemTemplate) bool { return t.Name == name })
	if _, taken := s.items[name]; !wanted || taken {
		s.orphans = append(s.orphans, item)
		return
	}
	s.items[name] = item
}

// awaitCreated stops while the cache does not show an item that was created.
func (r *Reconciler) awaitCreated(s *scope) error {
	for i := range s.templates {
		if s.items[s.templates[i].Name] != nil {
			continue
		}
		key := client.ObjectKey{Namespace: s.execution.Namespace, Name: kit.ChildName(s.execution.Name, s.templates[i].Name)}
		if wait := r.items.Unseen(key); wait > 0 {
			s.requeue = wait
			return kit.ErrStop
		}
	}
	return nil
}
