// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"maps"
	"slices"

	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// HasJob reports whether a child has been given the running job. It may be at work or done with it, so one job never writes it twice.
func (f *Family) HasJob(child kit.JobObject) bool {
	return jobs.Given(child, f.Inst.Status.JobID)
}

// SomeHaveJob reports whether a child has been given the running job. Until then everything is made from the spec as it is now.
func (f *Family) SomeHaveJob() bool {
	return f.Execution != nil && f.HasJob(f.Execution) || f.SomeChildHasJob()
}

// SomeChildHasJob reports the same of the sub-installations alone.
func (f *Family) SomeChildHasJob() bool {
	return slices.ContainsFunc(slices.Sorted(maps.Keys(f.Children)), func(name string) bool { return f.HasJob(f.Children[name]) })
}

// compare notes when a child that keeps what it has does not have what is wanted now.
func (f *Family) compare(has, wanted any) error {
	same, err := kit.SameJSON(has, wanted)
	if err != nil || same {
		return err
	}
	f.NoteChange()
	return nil
}

// IsOutdated reports whether the running job of a root has given the spec of some children while the rest would get those of a newer spec.
// Children of two specs may wait for each other until the job times out: one for an object that the other gives up only in the newer spec.
func (f *Family) IsOutdated() bool {
	inst := f.Inst
	return inst.IsRoot() && !inst.Spec.Suspend && inst.Generation != inst.Status.ObservedGeneration && f.SomeHaveJob()
}

// isAtWork reports whether a child is going to end the running job and has not yet.
func (f *Family) isAtWork(child kit.JobObject) bool {
	return f.HasJob(child) && child.GetDeletionTimestamp().IsZero() && child.Job().JobIDFinished != f.Inst.Status.JobID
}

// NoteChange shows that what the children are made from has changed during the job.
func (f *Family) NoteChange() {
	conditions.MarkTrue(f.Inst, jobs.ChangedDuringJobCondition, jobs.ReasonAnotherJob, "%s", jobs.ChangedMessage)
}

// TakeOverChange notes at the end of a job what sub-installations have noted during the same job: only roots start another.
func (f *Family) TakeOverChange() {
	changed := slices.ContainsFunc(slices.Sorted(maps.Keys(f.Children)), func(name string) bool {
		child := f.Children[name]
		return child.Status.JobID == f.Inst.Status.JobID && conditions.IsTrue(child, jobs.ChangedDuringJobCondition)
	})
	if changed {
		f.NoteChange()
	}
}

// List records the sub-installations in the status that is written before the first of them is created: those of the plan, and
// those that are there without being planned. With sealed it records also which blueprints in place they get, as the verified blueprint of
// this job says. A sub-installation that has the job already keeps what was recorded for it.
func (f *Family) List(templates []model.InstallationTemplate, sealed bool) error {
	before, ordered := f.Inst.Status.SubInstCache, relations.ProducersFirst(templates)
	active, err := f.pairs(ordered)
	if err != nil {
		return err
	}
	for i := range active {
		if active[i].BlueprintDigest, err = f.seal(active[i].ObjectName, before, &ordered[i], sealed); err != nil {
			return err
		}
	}
	listed := &v1alpha1.SubInstCache{ActiveSubs: active}
	for _, orphan := range f.withoutTemplate(active) {
		listed.OrphanedSubs = append(listed.OrphanedSubs, orphan.Name)
	}
	f.Inst.Status.SubInstCache = listed
	return nil
}

// seal returns the digest of the blueprint in place of a sub-installation; empty where there is none, or without sealed.
func (f *Family) seal(name string, before *v1alpha1.SubInstCache, template *model.InstallationTemplate, sealed bool) (string, error) {
	child, raw := f.Children[name], template.Blueprint.Filesystem.RawMessage
	if own := f.Inst.Spec.Blueprint.Inline; own != nil && template.Blueprint.Path != "" {
		raw = own.Filesystem.RawMessage // a folder of that of the parent
	}
	switch {
	case !sealed:
		return "", nil
	case child != nil && f.HasJob(child):
		return before.Find(name).BlueprintDigest, nil
	case len(raw) == 0:
		return "", nil
	}
	return inputs.InPlaceDigest(raw)
}
