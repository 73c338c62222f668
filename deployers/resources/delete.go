// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Orphans returns the known resources that are not among the current ones: neither their UID nor their group, kind, namespace
// and name is.
func Orphans(known, current []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	names := identities(current)
	uids := map[string]bool{}
	for _, c := range current {
		uids[string(c.Resource.UID)] = c.Resource.UID != ""
	}
	return slices.DeleteFunc(slices.Clone(known), func(k managedresource.ManagedResourceStatus) bool {
		_, named := names[identityOf(k.Resource)]
		return named || uids[string(k.Resource.UID)]
	})
}

// Union returns the first resources and those of the second that are not among them.
func Union(first, second []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	return append(slices.Clone(first), Orphans(second, first)...)
}

// Delete removes managed resources from the target, deletion group by deletion group; an empty list of groups means the three
// predefined ones. Resources with policy keep or ignore stay, and so do resources that no group takes, those with policy fallback
// that do not carry the label of the owner, and those that another DeployItem or nobody known has put in the place of the
// recorded ones. When nothing is managed nothing is deleted, not even by groups with deleteAllResources.
// The progress names what is still there; a group begins when the one before is gone.
func Delete(ctx context.Context, s *Session, managed []managedresource.ManagedResourceStatus,
	definitions []managedresource.DeletionGroupDefinition) (Progress, error) {
	if err := s.Step("deployer: process managed resource manifests"); err != nil || len(managed) == 0 {
		return Progress{}, err
	}
	if len(definitions) == 0 {
		definitions = defaultGroups
	}
	groups, err := deletionGroups(ctx, s, definitions)
	if err != nil {
		return Progress{}, err
	}
	assign(groups, slices.DeleteFunc(slices.Clone(managed), stays))
	for _, group := range groups {
		if err := s.Step("deployer: delete resources"); err != nil {
			return Progress{}, err
		}
		progress, err := deleteGroup(ctx, s, group)
		if err != nil || !progress.Done() {
			return progress, err
		}
	}
	return Progress{}, nil
}

func stays(m managedresource.ManagedResourceStatus) bool {
	return m.Policy == managedresource.KeepPolicy || m.Policy == managedresource.IgnorePolicy
}

func deletionGroups(ctx context.Context, s *Session, definitions []managedresource.DeletionGroupDefinition) ([]*deletionGroup, error) {
	var groups []*deletionGroup
	for _, definition := range definitions {
		var name *string
		if definition.CustomResourceGroup != nil {
			name = definition.CustomResourceGroup.TargetName
		}
		cluster, err := s.on(ctx, name)
		if err != nil {
			return nil, err
		}
		group, err := newDeletionGroup(ctx, cluster, definition)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	return groups, nil
}

func deleteGroup(ctx context.Context, s *Session, group *deletionGroup) (Progress, error) {
	cluster, err := s.on(ctx, group.targetName())
	if err != nil {
		return Progress{}, err
	}
	removals := make([]removal, 0, len(group.members))
	for _, member := range group.members {
		removals = append(removals, removal{ManagedResourceStatus: member, cluster: cluster, force: group.force()})
	}
	if group.everything() {
		more, err := everyOther(ctx, &s.served, cluster, group)
		if err != nil {
			return Progress{}, err
		}
		removals = append(removals, more...)
	}
	return removeAll(ctx, s, removals)
}

// everyOther lists the objects on the cluster that a group with deleteAllResources selects beside its members.
func everyOther(ctx context.Context, known *served, cluster *target.Cluster, group *deletionGroup) ([]removal, error) {
	members := identities(group.members)
	var removals []removal
	for _, selection := range group.selections {
		refs, err := list(ctx, known, cluster, selection)
		if err != nil {
			return nil, err
		}
		for _, ref := range refs {
			if _, member := members[identityOf(ref)]; !member {
				removals = append(removals, removal{
					ManagedResourceStatus: managedresource.ManagedResourceStatus{Resource: ref},
					cluster:               cluster, force: group.force(), anyOwner: true,
				})
			}
		}
	}
	return removals, nil
}

func list(ctx context.Context, known *served, cluster *target.Cluster, selection selection) ([]managedresource.ResourceReference, error) {
	kind, err := lookup(ctx, cluster, selection.gvk)
	if isNoMatch(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	namespace := metav1.NamespaceAll
	if len(selection.names.Namespaces) == 1 {
		namespace = selection.names.Namespaces[0]
	}
	found, err := client(cluster, kind, namespace).List(ctx, metav1.ListOptions{})
	if isUnserved(err) {
		if _, err = known.anew(ctx, cluster, selection.gvk.GroupKind()); err == nil {
			err = errLostRace // the kind has just come, or this version of it has gone
		}
	}
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		whole := managedresource.ResourceReference{APIVersion: selection.gvk.GroupVersion().String(), Kind: selection.gvk.Kind}
		return nil, objectError("list all of kind", whole, err)
	}
	var refs []managedresource.ResourceReference
	for i := range found.Items {
		if selection.selects(found.Items[i].GetNamespace(), found.Items[i].GetName()) {
			refs = append(refs, referenceTo(&found.Items[i]))
		}
	}
	return refs, nil
}

// removeAll removes objects in parallel and says which are still there. Errors are collected.
func removeAll(ctx context.Context, s *Session, removals []removal) (Progress, error) {
	var running errgroup.Group
	running.SetLimit(parallel)
	var lock sync.Mutex
	remaining := make([]Progress, len(removals))
	var problems []error
	for i, r := range removals {
		running.Go(func() error {
			progress, err := remove(ctx, s, r)
			remaining[i] = progress
			if err != nil {
				lock.Lock()
				defer lock.Unlock()
				problems = append(problems, err)
			}
			return nil
		})
	}
	_ = running.Wait()
	var progress Progress
	for _, r := range remaining {
		progress.Add(r)
	}
	return progress, joinSorted(problems)
}

// joinSorted joins errors in an order that does not depend on which request was answered first.
func joinSorted(problems []error) error {
	slices.SortFunc(problems, func(a, b error) int {
		if a.Error() < b.Error() {
			return -1
		}
		return 1
	})
	return errors.Join(problems...)
}

// stillThere says what keeps an object from being gone.
func stillThere(ref managedresource.ResourceReference, finalizers []string) string {
	text := fmt.Sprintf("%s is still there", ref)
	if len(finalizers) > 0 {
		text += fmt.Sprintf(", held by %v", finalizers)
	}
	return text
}
