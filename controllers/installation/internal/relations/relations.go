// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package relations says how Installations are related: which one owns another, which objects flow between siblings, and in which order that
// puts them. It writes nothing.
package relations

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// Finder finds the Installations that one is related to.
type Finder struct {
	// Reader reads from caches with the indexes of this package.
	client.Reader
	// Live reads from the API server.
	Live client.Reader
}

const (
	ownerOperation     = "CheckOwner"
	reasonForeignOwner = "ForeignOwner"
	// MaxDepth is how many Installations a walk over owners visits.
	MaxDepth = 64
)

// IsListed reports whether a parent has recorded a sub-installation. It does so before it creates the sub-installation.
func IsListed(parent, inst *v1alpha1.Installation) error {
	if !parent.Status.Lists(inst.Name) {
		return fmt.Errorf("installation %s does not list it in status.subInstCache", parent.Name)
	}
	return nil
}

// ListingParent returns the Installation that owns this one, nil for roots. It fails as Stalled when there is no such Installation with the UID of
// the owner, or when check says what is wrong with it. What the cache shows is not the last word on that.
func (f *Finder) ListingParent(
	ctx context.Context, inst *v1alpha1.Installation, check func(parent, inst *v1alpha1.Installation) error,
) (*v1alpha1.Installation, error) {
	owner := inst.ParentReference()
	if owner == nil {
		return nil, nil
	}
	var problem error
	for _, reader := range []client.Reader{f.Reader, f.Live} {
		parent := &v1alpha1.Installation{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, parent)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return nil, fmt.Errorf("read the owner %s of installation %s: %w", owner.Name, inst.Name, err)
		case owner.UID == inst.UID:
			problem = errors.New("it is its own owner")
		case err != nil || parent.UID != owner.UID:
			problem = fmt.Errorf("there is no installation %s with UID %s in its namespace", owner.Name, owner.UID)
		default:
			if problem = check(parent, inst); problem == nil {
				return parent, nil
			}
		}
	}
	return nil, protocol.Stall(ownerOperation, reasonForeignOwner, "metadata.ownerReferences: installation %s is not a sub-installation of %s: %w; "+
		"remove the owner reference", inst.Name, owner.Name, problem)
}

// Root climbs to the root of a tree of Installations, over owners that list what they own.
func (f *Finder) Root(ctx context.Context, inst *v1alpha1.Installation) (*v1alpha1.Installation, error) {
	seen := map[types.UID]bool{}
	for current := inst; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if seen[current.UID] || len(seen) == MaxDepth {
			return nil, protocol.Stall(ownerOperation, reasonForeignOwner, "metadata.ownerReferences: the owners of installation %s do not lead to a root "+
				"within %d steps; remove the owner reference, or nest sub-installations less deeply", inst.Name, MaxDepth)
		}
		seen[current.UID] = true
		parent, err := f.ListingParent(ctx, current, IsListed)
		if err != nil || parent == nil {
			return current, err
		}
		current = parent
	}
}

// Parent returns the Installation that owns a nested one, nil when there is none (any more). Whoever made the nested Installation see a job
// had the parent's status written before, and the cache shows writes to Installations in their order.
func (f *Finder) Parent(ctx context.Context, inst *v1alpha1.Installation) (*v1alpha1.Installation, error) {
	owner := metav1.GetControllerOf(inst)
	if inst.IsRoot() || owner == nil {
		return nil, nil
	}
	parent := &v1alpha1.Installation{}
	err := f.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, parent)
	if apierrors.IsNotFound(err) || err == nil && parent.UID != owner.UID {
		return nil, nil
	}
	return parent, err
}

func namesOf(installations []*v1alpha1.Installation) []string {
	names := make([]string, 0, len(installations))
	for _, inst := range installations {
		names = append(names, inst.Name)
	}
	return names
}

// Producers returns the siblings that export what an Installation imports, by name.
func (f *Finder) Producers(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	return f.siblingsBy(ctx, inst, ExportIndex, ImportsOf(inst))
}

// consumers returns the siblings that import what an Installation exports, by name.
func (f *Finder) consumers(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	return f.siblingsBy(ctx, inst, ImportIndex, ExportsOf(inst))
}

// siblingsBy returns siblings from an index. They are shared with the cache and must not be changed.
func (f *Finder) siblingsBy(ctx context.Context, inst *v1alpha1.Installation, index string, keys []string) ([]*v1alpha1.Installation, error) {
	found := map[string]*v1alpha1.Installation{}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(keys))) {
		if err := ctx.Err(); err != nil { // the cache does not ask it
			return nil, err
		}
		list := &v1alpha1.InstallationList{}
		err := f.List(ctx, list, client.InNamespace(inst.Namespace), client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if other := &list.Items[i]; other.UID != inst.UID && ParentOf(other) == ParentOf(inst) {
				found[other.Name] = other
			}
		}
	}
	siblings := make([]*v1alpha1.Installation, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		siblings = append(siblings, found[name])
	}
	return siblings, nil
}

// AwaitedSuccessors returns the successors that have to be gone before an Installation: all but those that are being deleted in a circle with it.
func (f *Finder) AwaitedSuccessors(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	successors, err := f.consumers(ctx, inst)
	if err != nil || !slices.ContainsFunc(successors, InDeletion) {
		return successors, err
	}
	after := map[string][]string{inst.Name: namesOf(successors)}
	for queue := slices.Clone(successors); len(queue) > 0; queue = queue[1:] {
		current := queue[0]
		if _, seen := after[current.Name]; seen || !InDeletion(current) {
			continue
		}
		further, err := f.consumers(ctx, current)
		if err != nil {
			return nil, err
		}
		after[current.Name] = namesOf(further)
		queue = append(queue, further...)
	}
	circle := leadingTo(inst.Name, after)
	return slices.DeleteFunc(successors, func(successor *v1alpha1.Installation) bool { return circle[successor.Name] }), nil
}

// leadingTo returns those from which a way along the successors, given of all that are being deleted, leads to one. In a circle each would wait for the
// others, so that no order exists; whoever is not being deleted is waited for.
func leadingTo(name string, after map[string][]string) map[string]bool {
	before := map[string][]string{}
	for from, successors := range after {
		for _, successor := range successors {
			before[successor] = append(before[successor], from)
		}
	}
	found := map[string]bool{}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, from := range before[queue[0]] {
			if !found[from] {
				found[from] = true
				queue = append(queue, from)
			}
		}
	}
	return found
}

// Cycle follows the producers and returns the names along a way that leads back, nil when there is none.
func (f *Finder) Cycle(ctx context.Context, inst *v1alpha1.Installation) ([]string, error) {
	exported := ExportsOf(inst)
	if slices.ContainsFunc(ImportsOf(inst), func(key string) bool { return slices.Contains(exported, key) }) {
		return []string{inst.Name, inst.Name}, nil
	}
	done := map[string]bool{}
	var walk func(current *v1alpha1.Installation, path []string) ([]string, error)
	walk = func(current *v1alpha1.Installation, path []string) ([]string, error) {
		done[current.Name] = true
		path = append(path, current.Name)
		producers, err := f.Producers(ctx, current)
		if err != nil {
			return nil, err
		}
		for _, producer := range producers {
			if producer.UID == inst.UID {
				return append(path, inst.Name), nil
			}
			if done[producer.Name] {
				continue
			}
			if found, err := walk(producer, path); err != nil || found != nil {
				return found, err
			}
		}
		return nil, nil
	}
	return walk(inst, nil)
}

// Downstream returns the roots that something flows to from an Installation, at any distance; from a nested one its consumers only.
func (f *Finder) Downstream(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	var found []*v1alpha1.Installation
	met := map[types.UID]bool{}
	for queue := []*v1alpha1.Installation{inst}; len(queue) > 0; queue = queue[1:] {
		consumers, err := f.consumers(ctx, queue[0])
		if err != nil {
			return nil, err
		}
		for _, consumer := range consumers {
			if met[consumer.UID] {
				continue
			}
			met[consumer.UID] = true
			found = append(found, consumer)
			if consumer.IsRoot() {
				queue = append(queue, consumer)
			}
		}
	}
	return found, nil
}
