// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// checkOwner refuses an Installation that names an owner which does not list it. Whoever may write Installations may write any owner into
// their metadata, but nobody except this controller writes their status. A deletion needs no owner, so it is not checked there.
func (r *Reconciler) checkOwner(ctx context.Context, s *scope) error {
	_, err := r.related.ListingParent(ctx, s.inst, relations.IsListed)
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

// listChildren records the sub-installations in the status that is written before the first of them is created: those of the plan, and
// those that are there without being planned. With sealed it records also which blueprints in place they get, as the verified blueprint of
// this job says. A sub-installation that has the job already keeps what was recorded for it.
func (s *scope) listChildren(sealed bool) error {
	before, templates := s.inst.Status.SubInstCache, relations.ProducersFirst(s.plan.subinstallations)
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
	return inputs.InPlaceDigest(raw)
}
