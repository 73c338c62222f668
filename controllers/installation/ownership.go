// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	ownerOperation     = "CheckOwner"
	reasonForeignOwner = "ForeignOwner"
	// maxDepth is how many Installations a walk over owners visits.
	maxDepth = 64
)

// checkOwner refuses an Installation that names an owner which does not list it. Whoever may write Installations may write any owner into
// their metadata, but nobody except this controller writes their status. A deletion needs no owner, so it is not checked there.
func (r *Reconciler) checkOwner(ctx context.Context, s *scope) error {
	_, err := r.listingParent(ctx, s.inst, isListed)
	if err != nil && s.refusedBefore(err) {
		return kit.ErrStop
	}
	return err
}

// refusedBefore reports whether the status says so already, so that nothing is written again.
func (s *scope) refusedBefore(err error) bool {
	var failure *kit.Failure
	last := s.inst.Status.LastError
	return errors.As(err, &failure) && s.inst.Status.IsIdle() && last != nil && last.Reason == failure.Reason && last.Message == failure.Error()
}

// isListed reports whether a parent has recorded a sub-installation. It does so before it creates the sub-installation.
func isListed(parent, inst *v1alpha1.Installation) error {
	if !parent.Status.Lists(inst.Name) {
		return fmt.Errorf("installation %s does not list it in status.subInstCache", parent.Name)
	}
	return nil
}

// listingParent returns the Installation that owns this one, nil for roots. It fails as Stalled when there is no such Installation with the UID of
// the owner, or when check says what is wrong with it. What the cache shows is not the last word on that.
func (r *Reconciler) listingParent(
	ctx context.Context, inst *v1alpha1.Installation, check func(parent, inst *v1alpha1.Installation) error,
) (*v1alpha1.Installation, error) {
	owner := inst.ParentReference()
	if owner == nil {
		return nil, nil
	}
	var problem error
	for _, reader := range []client.Reader{r.Client, r.Live} {
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

// rootOf climbs to the root of a tree of Installations, over owners that list what they own.
func (r *Reconciler) rootOf(ctx context.Context, inst *v1alpha1.Installation) (*v1alpha1.Installation, error) {
	seen := map[types.UID]bool{}
	for current := inst; ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if seen[current.UID] || len(seen) == maxDepth {
			return nil, kit.Stall(ownerOperation, reasonForeignOwner, "metadata.ownerReferences: the owners of installation %s do not lead to a root "+
				"within %d steps; remove the owner reference, or nest sub-installations less deeply", inst.Name, maxDepth)
		}
		seen[current.UID] = true
		parent, err := r.listingParent(ctx, current, isListed)
		if err != nil || parent == nil {
			return current, err
		}
		current = parent
	}
}

// listChildren records the sub-installations in the status that is written before the first of them is created: those of the plan, and
// those that are there without being planned. With sealed it records also which blueprints in place they get, as the verified blueprint of
// this job says. A sub-installation that has the job already keeps what was recorded for it.
func (s *scope) listChildren(sealed bool) error {
	before, templates := s.inst.Status.SubInstCache, producersFirst(s.plan.subinstallations)
	active, err := s.pairs(templates)
	if err != nil {
		return err
	}
	for i := range active {
		if active[i].BlueprintDigest, err = s.seal(active[i].ObjectName, before, &templates[i], sealed); err != nil {
			return err
		}
	}
	listed := &v1alpha1.SubInstCache{ActiveSubs: active}
	for _, orphan := range s.withoutTemplate(active) {
		listed.OrphanedSubs = append(listed.OrphanedSubs, orphan.Name)
	}
	s.inst.Status.SubInstCache = listed
	return nil
}

// seal returns the digest of the blueprint in place of a sub-installation; empty where there is none, or without sealed.
func (s *scope) seal(name string, before *v1alpha1.SubInstCache, template *model.InstallationTemplate, sealed bool) (string, error) {
	child, raw := s.children[name], template.Blueprint.Filesystem.RawMessage
	switch {
	case !sealed:
		return "", nil
	case child != nil && s.hasJob(child):
		return before.Find(name).BlueprintDigest, nil
	case len(raw) == 0:
		return "", nil
	}
	return inPlaceDigest(raw)
}

// isSealed reports whether the parent has recorded the blueprint in place of a sub-installation for the job that both run.
func isSealed(parent, inst *v1alpha1.Installation) error {
	digest, err := inPlaceDigest(inst.Spec.Blueprint.Inline.Filesystem.RawMessage)
	if err != nil {
		return err
	}
	if recorded := parent.Status.SubInstCache.Find(inst.Name).BlueprintDigest; recorded != digest || parent.Status.JobID != inst.Status.JobID {
		return fmt.Errorf("the verified blueprint of installation %s does not hold this one", parent.Name)
	}
	return nil
}
