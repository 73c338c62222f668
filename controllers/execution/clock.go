// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// runsByClock reports whether an item runs a job that it gave itself by the clock. Nobody waits for such a job, and one of the Execution takes its
// place: it does the same, and more.
func runsByClock(item *v1alpha1.DeployItem) bool {
	return !item.Status.IsIdle() && isOfClock(item)
}

// isOfClock reports whether the clock gave an item its last job.
func isOfClock(item *v1alpha1.DeployItem) bool {
	return strings.HasPrefix(item.Status.JobID, v1alpha1.ContinuousJobPrefix)
}

// showClock shows on an Execution that has succeeded when an item has failed since in a job by the clock, and takes that back once it has succeeded.
// The phase stays that of the last job. The clock tries again, so nobody has to act yet. While the item works, what is shown stays.
func (s *scope) showClock() {
	if !s.execution.Status.IsIdle() || s.execution.Status.Phase != v1alpha1.PhaseSucceeded {
		return
	}
	own := slices.DeleteFunc(slices.Clone(s.all), func(item *v1alpha1.DeployItem) bool {
		return !metav1.IsControlledBy(item, s.execution) || !isOfClock(item)
	})
	slices.SortFunc(own, func(a, b *v1alpha1.DeployItem) int { return strings.Compare(a.Name, b.Name) })
	failed := slices.IndexFunc(own, func(item *v1alpha1.DeployItem) bool { return item.Status.IsIdle() && item.Status.Phase.IsFailed() })
	shown := conditions.GetReason(s.execution, meta.ReadyCondition) == protocol.ReasonContinuousFailed
	switch {
	case failed >= 0:
		failure := itemFailure(own[failed])
		failure.Reason, failure.Heals = protocol.ReasonContinuousFailed, true
		failure.Err = fmt.Errorf("since the last job %w", failure.Err)
		protocol.ShowFailure(s.execution, failure)
	case shown && !slices.ContainsFunc(own, runsByClock):
		conditions.Delete(s.execution, meta.ReconcilingCondition)
		conditions.MarkTrue(s.execution, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", succeededMessage)
	}
}
