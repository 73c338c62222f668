// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// ObserveChildren waits until all sub-installations have ended the job, and names those that failed with their causes.
func (k *Keeper) ObserveChildren(ctx context.Context, f *Family) error {
	if f.Inst.Status.SubInstCache == nil {
		return nil
	}
	var failed []string
	for _, pair := range f.Inst.Status.SubInstCache.ActiveSubs {
		child := f.Children[pair.ObjectName]
		if child == nil {
			failed = append(failed, fmt.Sprintf("sub-installation %s is gone", pair.ObjectName))
			continue
		}
		if jobs.LeavesJob(child, f.Inst.Status.JobID) {
			failed = append(failed, child.Name+": "+jobs.LeavesJobMessage)
			continue
		}
		if child.Status.JobIDFinished != f.Inst.Status.JobID {
			return f.await()
		}
		if child.Status.Phase != v1alpha1.PhaseSucceeded {
			failed = append(failed, fmt.Sprintf("%s: %s", child.Name, jobs.LastMessage(child.Status.LastError)))
		}
	}
	if f.Execution != nil && f.Execution.Status.JobIDFinished != f.Inst.Status.JobID || len(failed) == 0 {
		return nil
	}
	heals, err := k.healsBelow(ctx, f.Inst)
	if err != nil {
		return err
	}
	return &kit.Failure{
		Kind: kit.Stalled, Operation: "buildErrorIfFailedChild", Reason: jobs.ReasonChildrenFailed,
		Err:   fmt.Errorf("children failed: %s", strings.Join(failed, "; ")),
		Heals: heals && jobs.JudgeExecution(f.Execution, f.Inst.Status.JobID) == nil,
	}
}

// ObserveExecution waits until the Execution has ended the job, and passes on why it failed.
func (k *Keeper) ObserveExecution(_ context.Context, f *Family) error {
	err := jobs.JudgeExecution(f.Execution, f.Inst.Status.JobID)
	if errors.Is(err, kit.ErrStop) {
		return f.await()
	}
	return err
}

// ShowDrift shows which deploy items, and which sub-installations, are not as they were deployed, also while no job runs.
func (k *Keeper) ShowDrift(_ context.Context, f *Family) error {
	var drifted []string
	if f.Execution != nil && kit.DriftOf(f.Execution) != "" {
		drifted = append(drifted, kit.DriftOf(f.Execution))
	}
	for name, child := range f.Children {
		if conditions.IsTrue(child, v1alpha1.DriftedCondition) {
			drifted = append(drifted, "sub-installation "+name)
		}
	}
	kit.ShowDrift(f.Inst, drifted)
	return nil
}

const (
	// WorkingMessage says that the children are at work.
	WorkingMessage  = "sub-installations and deploy items are at work"
	deletingMessage = "sub-installations and deploy items are being deleted"
)

// await stops, and shows why the work of a child is tried again, or that none is. In a deletion it also shows which child has another job.
func (f *Family) await() error {
	otherwise, job := WorkingMessage, f.Inst.Status.JobID
	cause := jobs.CauseBelow(job, f.Execution, f.Children)
	if !f.Inst.DeletionTimestamp.IsZero() {
		otherwise = deletingMessage
		if first := jobs.EndsFirst(job, f.Execution, f.Children); cause.Message == "" && first != "" {
			cause = kit.Cause{Reason: meta.ProgressingWithRetryReason, Message: first}
		}
	}
	kit.ShowCause(f.Inst, cause, otherwise)
	return kit.ErrStop
}

// healsBelow reports whether an event of the cluster starts an Installation again whose sub-installations have failed.
func (k *Keeper) healsBelow(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !jobs.MayHeal(inst) || !jobs.FollowsChanges(inst) {
		return false, nil
	}
	below, err := k.CausesBelow(ctx, inst)
	return err == nil && jobs.HealTogether(below), err
}

// CausesBelow returns the sub-installations at any depth but for those that have failed because of one below them.
func (k *Keeper) CausesBelow(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	var causes []*v1alpha1.Installation
	err := k.Below(ctx, inst, func(child *v1alpha1.Installation) (bool, error) {
		further := jobs.FailedBelow(child)
		if !further {
			causes = append(causes, child)
		}
		return further, nil
	})
	if err != nil {
		return nil, err
	}
	return causes, nil
}

// Below visits the sub-installations at any depth. What visit returns says whether it goes on with those of the visited one.
func (k *Keeper) Below(ctx context.Context, inst *v1alpha1.Installation, visit func(*v1alpha1.Installation) (further bool, err error)) error {
	seen := map[types.UID]bool{inst.UID: true}
	for queue := []*v1alpha1.Installation{inst}; len(queue) > 0; queue = queue[1:] {
		children := &v1alpha1.InstallationList{}
		below := client.MatchingFields{relations.ParentIndex: queue[0].Name}
		if err := k.List(ctx, children, client.InNamespace(inst.Namespace), below, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for i := range children.Items {
			child := &children.Items[i]
			if seen[child.UID] || relations.IsListed(queue[0], child) != nil {
				continue
			}
			seen[child.UID] = true
			further, err := visit(child)
			if err != nil {
				return err
			}
			if further {
				queue = append(queue, child)
			}
		}
	}
	return nil
}
