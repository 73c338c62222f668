// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package removal deletes recorded objects, deletion group by deletion group. It does not know why they have to go.
package removal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Delete removes managed resources from the target, deletion group by deletion group; an empty list of groups means the three
// predefined ones. Resources with policy keep or ignore stay, and so do resources that no group takes, those with policy fallback
// that do not carry the label of the owner, and those that another DeployItem or nobody known has put in the place of the
// recorded ones. When nothing is managed nothing is deleted, not even by groups with deleteAllResources.
// The progress names what is still there; a group begins when the one before is gone.
func Delete(ctx context.Context, s *resources.Session, managed []managedresource.ManagedResourceStatus,
	definitions []managedresource.DeletionGroupDefinition) (resources.Progress, error) {
	if err := s.Step("deployer: process managed resource manifests"); err != nil || len(managed) == 0 {
		return resources.Progress{}, err
	}
	if len(definitions) == 0 {
		definitions = defaultGroups
	}
	groups, err := deletionGroups(ctx, s, definitions)
	if err != nil {
		return resources.Progress{}, err
	}
	assign(groups, slices.DeleteFunc(slices.Clone(managed), resources.Stays))
	for _, group := range groups {
		if err := s.Step("deployer: delete resources"); err != nil {
			return resources.Progress{}, err
		}
		progress, err := deleteGroup(ctx, s, group)
		if err != nil || !progress.Done() {
			return progress, err
		}
	}
	return resources.Progress{}, nil
}

func deletionGroups(ctx context.Context, s *resources.Session, definitions []managedresource.DeletionGroupDefinition) ([]*deletionGroup, error) {
	var groups []*deletionGroup
	for _, definition := range definitions {
		var name *string
		if definition.CustomResourceGroup != nil {
			name = definition.CustomResourceGroup.TargetName
		}
		cluster, err := s.On(ctx, name)
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

func deleteGroup(ctx context.Context, s *resources.Session, group *deletionGroup) (resources.Progress, error) {
	removals := make([]removal, 0, len(group.members))
	for _, member := range group.members {
		removals = append(removals, removal{ManagedResourceStatus: member, cluster: group.cluster, force: group.force})
	}
	if group.everything {
		more, err := everyOther(ctx, &s.Served, group)
		if err != nil {
			return resources.Progress{}, err
		}
		removals = append(removals, more...)
	}
	return each(len(removals), func(i int) (resources.Progress, error) { return remove(ctx, s, removals[i]) })
}

// everyOther lists the objects on the cluster that a group with deleteAllResources selects beside its members. A kind is listed once, however many
// selections it has, or once for each namespace where they all name one.
func everyOther(ctx context.Context, known *objects.Served, group *deletionGroup) ([]removal, error) {
	isWhole := map[schema.GroupVersionKind]bool{}
	for _, one := range group.selections {
		isWhole[one.gvk] = isWhole[one.gvk] || len(one.Namespaces) != 1
	}
	type listing struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	members, seen := resources.Identities(group.members), map[listing]bool{}
	var removals []removal
	for _, one := range group.selections {
		next := listing{gvk: one.gvk}
		if !isWhole[one.gvk] {
			next.namespace = one.Namespaces[0]
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		found, err := list(ctx, known, group.cluster, next.gvk, next.namespace)
		if err != nil {
			return nil, err
		}
		for i := range found {
			ref := objects.ReferenceTo(&found[i])
			if _, member := members[objects.IdentityOf(ref)]; !member && group.selects(next.gvk, ref.Namespace, ref.Name) {
				removals = append(removals, removal{
					ManagedResourceStatus: managedresource.ManagedResourceStatus{Resource: ref},
					cluster:               group.cluster, force: group.force, anyOwner: true,
				})
			}
		}
	}
	return removals, nil
}

func list(ctx context.Context, known *objects.Served, cluster *target.Cluster, gvk schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	kind, err := objects.Lookup(ctx, cluster, gvk)
	if objects.IsNoMatch(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := objects.Client(cluster, kind, namespace).List(ctx, metav1.ListOptions{})
	if objects.IsUnserved(err) {
		if _, err = known.Anew(ctx, cluster, gvk.GroupKind()); err == nil {
			err = objects.ErrLostRace // the kind has just come, or this version of it has gone
		}
	}
	switch {
	case objects.IsGone(err):
		return nil, nil
	case err != nil:
		whole := managedresource.ResourceReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
		return nil, objects.ObjectError("list all of kind", whole, err)
	}
	return found.Items, nil
}

// each works on so many objects in parallel. Errors are collected.
func each(count int, work func(i int) (resources.Progress, error)) (resources.Progress, error) {
	remaining, problems := make([]resources.Progress, count), make([]error, count)
	objects.Each(count, func(i int) { remaining[i], problems[i] = work(i) })
	var progress resources.Progress
	for _, r := range remaining {
		progress.Add(r)
	}
	return progress, joinSorted(problems)
}

// stillThere says what keeps an object from being gone.
func stillThere(ref managedresource.ResourceReference, finalizers []string) string {
	text := fmt.Sprintf("%s is still there", ref)
	if len(finalizers) > 0 {
		text += fmt.Sprintf(", held by %v", finalizers)
	}
	return text
}

// joinSorted joins errors in an order that does not depend on which object was recorded first.
func joinSorted(problems []error) error {
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}
