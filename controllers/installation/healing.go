// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// mayHeal reports whether any event of the cluster may start an Installation again: a sub-installation is started by its root alone.
func mayHeal(inst *v1alpha1.Installation) bool {
	return inst.IsRoot() && inst.DeletionTimestamp.IsZero() && !inst.Spec.Suspend
}

// heals reports whether an event of the cluster starts a root again that failed for a reason: what it is missing may come, or who it waits for
// may recover. Most of that starts only those that follow changes.
func heals(inst *v1alpha1.Installation, operation, reason string) bool {
	if !mayHeal(inst) {
		return false
	}
	switch {
	case operation == orderOperation && reason == reasonPredecessorFailed:
		return true
	case operation == importOperation && reason == reasonImportNotFound,
		operation == contextOperation && reason == reasonContextIncomplete,
		reason == string(flux.NotInstalled), reason == reasonBeyondImports:
		return followsChanges(inst)
	}
	return false
}

// healsBelow reports whether an event of the cluster starts an Installation again whose sub-installations have failed.
func (r *Reconciler) healsBelow(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !mayHeal(inst) || !followsChanges(inst) {
		return false, nil
	}
	below, err := r.causesBelow(ctx, inst)
	return err == nil && healTogether(below), err
}

// healTogether reports whether all that have failed among some sub-installations miss a part of their Context, or may not use the namespace by it, or
// wait for one of those. Nothing else that a sub-installation fails for starts its root again.
func healTogether(below []*v1alpha1.Installation) bool {
	found := false
	for _, child := range below {
		last := child.Status.LastError
		switch {
		case child.Status.Phase != v1alpha1.PhaseFailed, last != nil && last.Reason == reasonPredecessorFailed:
		case last != nil && last.Reason == reasonBeyondImports,
			last != nil && last.Operation == contextOperation && last.Reason == reasonContextIncomplete:
			found = true
		default:
			return false
		}
	}
	return found
}

// failureOf returns the failure that lastError describes.
func failureOf(inst *v1alpha1.Installation) *kit.Failure {
	last := inst.Status.LastError
	return &kit.Failure{
		Kind: kit.Stalled, Operation: last.Operation, Reason: last.Reason, Codes: last.Codes, Err: errors.New(last.Message),
		Heals: heals(inst, last.Operation, last.Reason),
	}
}
