// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"cmp"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Show puts into the conditions of an Environment or DeployerRegistration that it is Ready, with a message, or what keeps it from that. Working is
// the reason of Reconciling where nobody has to act; empty means that of the failure.
func Show(obj conditions.Setter, failure *kit.Failure, working, ready string) {
	if failure == nil {
		conditions.Delete(obj, meta.ReconcilingCondition)
		conditions.Delete(obj, meta.StalledCondition)
		conditions.MarkTrue(obj, meta.ReadyCondition, meta.SucceededReason, "%s", ready)
		return
	}
	reason, message := kit.Reason(failure.Reason), kit.Message(failure.Error())
	if failure.Kind == kit.Stalled {
		conditions.MarkStalled(obj, reason, "%s", message)
	} else {
		conditions.MarkReconciling(obj, cmp.Or(working, reason), "%s", message)
	}
	conditions.MarkFalse(obj, meta.ReadyCondition, reason, "%s", message)
}
