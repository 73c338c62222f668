// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// orphans returns the sub-installations without template that are deleted before the others are applied. Those that export Targets are left
// for later, because siblings uninstall through them, unless one of the new templates exports the same.
func (s *scope) orphans(active []v1alpha1.SubNamePair, templates []model.InstallationTemplate) []*v1alpha1.Installation {
	return slices.DeleteFunc(s.withoutTemplate(active), func(orphan *v1alpha1.Installation) bool {
		return len(orphan.Spec.Exports.Targets) > 0 && !relations.StillExports(orphan, templates)
	})
}

// withoutTemplate returns the sub-installations that are not active, by name.
func (s *scope) withoutTemplate(active []v1alpha1.SubNamePair) []*v1alpha1.Installation {
	var orphans []*v1alpha1.Installation
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		if !slices.ContainsFunc(active, func(pair v1alpha1.SubNamePair) bool { return pair.ObjectName == name }) {
			orphans = append(orphans, s.children[name])
		}
	}
	return orphans
}

// deleteOrphans deletes sub-installations and waits until they are gone.
func (r *Reconciler) deleteOrphans(ctx context.Context, s *scope, orphans []*v1alpha1.Installation) error {
	for _, orphan := range orphans {
		if jobs.DeleteFailed(orphan) && orphan.Status.JobIDFinished == s.inst.Status.JobID {
			return kit.Stall(jobs.Operation, "AllOrphanedSubinstallationsFailed", "sub-installation %s cannot be deleted: %s",
				orphan.Name, jobs.LastMessage(orphan.Status.LastError))
		}
		if err := r.deleteChild(ctx, s, orphan, true); err != nil {
			return err
		}
	}
	if len(orphans) > 0 {
		return kit.Wait(jobs.Operation, string(v1alpha1.PhaseCleanupOrphaned), "waiting for sub-installation %s to be deleted", orphans[0].Name)
	}
	return nil
}

// deleteLateOrphans deletes the remaining sub-installations without template, now that their siblings have left them.
func (r *Reconciler) deleteLateOrphans(ctx context.Context, s *scope) error {
	if s.inst.Status.SubInstCache == nil {
		return nil
	}
	return r.deleteOrphans(ctx, s, s.withoutTemplate(s.inst.Status.SubInstCache.ActiveSubs))
}

// exportedByOrphan reports whether a sub-installation that is not active any more exported an object of the own scope.
func (s *scope) exportedByOrphan(labels map[string]string) bool {
	if labels[v1alpha1.DataObjectSourceTypeLabel] != v1alpha1.DataObjectSourceExport {
		return false
	}
	return s.inst.Status.SubInstCache == nil || !slices.ContainsFunc(s.inst.Status.SubInstCache.ActiveSubs, func(pair v1alpha1.SubNamePair) bool {
		return kit.InstallationScope(pair.ObjectName) == labels[v1alpha1.DataObjectSourceLabel]
	})
}
