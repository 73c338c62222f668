// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

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
	return nil, kit.Stall(ownerOperation, reasonForeignOwner, "metadata.ownerReferences: installation %s is not a sub-installation of %s: %w; "+
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
			return nil, kit.Stall(ownerOperation, reasonForeignOwner, "metadata.ownerReferences: the owners of installation %s do not lead to a root "+
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
