// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// FailedBelow reports whether the last job failed because of a sub-installation.
func FailedBelow(inst *v1alpha1.Installation) bool {
	last := inst.Status.LastError
	return inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Reason == ReasonChildrenFailed
}

// FailedOverValue reports whether the last job of an Installation failed over what its blueprint makes of the imports, as schemas, mappings and templates do:
// other content may end that.
func FailedOverValue(inst *v1alpha1.Installation) bool {
	if inst.Status.Phase != v1alpha1.PhaseFailed || inst.Status.LastError == nil {
		return false
	}
	switch inst.Status.LastError.Operation {
	case SatisfyOperation, RenderOperation, ExportOperation:
		return true
	}
	return false
}

// MayHeal reports whether any event of the cluster may start an Installation again: a sub-installation is started by its root alone.
func MayHeal(inst *v1alpha1.Installation) bool {
	return inst.IsRoot() && inst.DeletionTimestamp.IsZero() && !inst.Spec.Suspend
}

// Heals reports whether an event of the cluster starts a root again that failed for a reason: what it is missing may come, or who it waits for
// may recover. Most of that starts only those that follow changes.
func Heals(inst *v1alpha1.Installation, operation, reason string) bool {
	if !MayHeal(inst) {
		return false
	}
	switch {
	case operation == OrderOperation && reason == ReasonPredecessorFailed:
		return true
	case operation == ImportOperation && reason == ReasonImportNotFound,
		operation == ContextOperation && reason == ReasonContextIncomplete,
		reason == string(flux.NotInstalled), reason == ReasonBeyondImports:
		return FollowsChanges(inst)
	}
	return false
}

// HealTogether reports whether all that have failed among some sub-installations miss a part of their Context, or may not use the namespace by it, or
// wait for one of those. Nothing else that a sub-installation fails for starts its root again.
func HealTogether(below []*v1alpha1.Installation) bool {
	found := false
	for _, child := range below {
		last := child.Status.LastError
		switch {
		case child.Status.Phase != v1alpha1.PhaseFailed, last != nil && last.Reason == ReasonPredecessorFailed:
		case last != nil && last.Reason == ReasonBeyondImports,
			last != nil && last.Operation == ContextOperation && last.Reason == ReasonContextIncomplete:
			found = true
		default:
			return false
		}
	}
	return found
}

// FailureOf returns the failure that lastError describes.
func FailureOf(inst *v1alpha1.Installation) *kit.Failure {
	last := inst.Status.LastError
	return &kit.Failure{
		Kind: kit.Stalled, Operation: last.Operation, Reason: last.Reason, Codes: last.Codes, Err: errors.New(last.Message),
		Heals: Heals(inst, last.Operation, last.Reason),
	}
}
