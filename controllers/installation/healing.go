// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// heals reports whether an event of the cluster starts a root again that failed for a reason: what it is missing may come, or who it waits for
// may recover. Most of that starts only those that follow changes. A sub-installation is started by its root alone.
func heals(inst *v1alpha1.Installation, operation, reason string) bool {
	if !inst.IsRoot() || !inst.DeletionTimestamp.IsZero() || inst.Spec.Suspend {
		return false
	}
	switch {
	case operation == orderOperation && reason == reasonPredecessorFailed:
		return true
	case operation == importOperation && reason == reasonImportNotFound,
		operation == contextOperation && reason == reasonContextIncomplete,
		reason == string(flux.NotInstalled):
		return followsChanges(inst)
	}
	return false
}

// failureOf returns the failure that lastError describes.
func failureOf(inst *v1alpha1.Installation) *kit.Failure {
	last := inst.Status.LastError
	return &kit.Failure{
		Kind: kit.Stalled, Operation: last.Operation, Reason: last.Reason, Codes: last.Codes, Err: errors.New(last.Message),
		Heals: heals(inst, last.Operation, last.Reason),
	}
}
