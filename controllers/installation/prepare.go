// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// prepare gives all children the specs of the running job, unless they have them. It ends a job that would give them specs of two generations.
func (r *Reconciler) prepare(ctx context.Context, s *reconciliation) error {
	if jobs.Prepared(s.Inst, s.family.Execution, s.family.Children) {
		return nil
	}
	if s.family.IsOutdated() {
		return r.children.GiveWay(ctx, s.family)
	}
	if err := r.order.AwaitPredecessors(ctx, s.Inst); err != nil {
		return err
	}
	if err := r.plans.Read(ctx, s.plan); err != nil {
		return err
	}
	return kit.Through(ctx, s, r.makes())
}

// warnOfDeletion says that the job deletes all deploy items or all sub-installations because templates of the blueprint, which still has them, render
// none. That may be a mistake in a condition, and nobody has deleted the Installation.
func (r *Reconciler) warnOfDeletion(_ context.Context, s *reconciliation) error {
	if jobs.IsUnfinished(s.Inst.Status.LastError) {
		return nil // an earlier reconciliation of the job has begun with it
	}
	var names []string
	if own := s.family.Execution; own != nil && !s.family.HasJob(own) && len(s.plan.DeployItems) == 0 && len(s.plan.Blueprint.Document.DeployExecutions) > 0 {
		items, _ := packing.Unpack(&own.Spec) // what cannot be read has made no items
		for _, item := range items {
			names = append(names, item.Name)
		}
		warnOf(r.Recorder, s, names, "deploy items", "deployExecutions")
	}
	if len(s.plan.Subinstallations) == 0 && len(s.plan.Blueprint.Document.SubinstallationExecutions) > 0 {
		warnOf(r.Recorder, s, slices.Sorted(maps.Keys(s.family.Children)), "sub-installations", "subinstallationExecutions")
	}
	return nil
}

func warnOf(events record.EventRecorder, s *reconciliation, names []string, of, by string) {
	if len(names) > 0 {
		events.AnnotatedEventf(s.Inst, notify.Once(s.Inst.Status.JobID), corev1.EventTypeWarning, kit.ReasonDeletesAll,
			"the job deletes all %s with what they have deployed, because the %s of the blueprint render none with these imports: %s",
			of, by, beginning.Of(strings.Join(names, ", "), 512))
	}
}

// noteKeys sets the condition about keys of the blueprint that have no effect, and posts an event when it says something new. Where the operator
// refuses such keys, the job fails before anything is made.
func (r *Reconciler) noteKeys(_ context.Context, s *reconciliation) error {
	if unknown := s.plan.Unknown; r.RefuseUnknownKeys && len(unknown) > 0 {
		return kit.Stall(jobs.RenderOperation, kit.UnknownKey, "blueprint: %s", document.List(unknown))
	}
	if kit.NoteUnknownKeys(s.Inst, "blueprint: ", s.plan.Unknown) {
		r.Recorder.Event(s.Inst, corev1.EventTypeWarning, kit.UnknownKey, conditions.GetMessage(s.Inst, v1alpha1.UnknownKeysCondition))
	}
	return nil
}
