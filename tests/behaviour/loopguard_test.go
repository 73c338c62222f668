// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// operationInGit is the condition that the loop guard sets.
const operationInGit = "OperationInGit"

// TestOperationInGitStartsNoLoop commits the annotation that starts a job, which Flux would put back at every sync.
func TestOperationInGitStartsNoLoop(t *testing.T) {
	t.Parallel()
	inGit := map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}
	s := newSynced(t, leaf{name: "one", value: "first", annotations: inGit})
	s.awaitReadyOnce("one")
	s.requireValue("one", "first")
	guarded := s.AwaitState("one", func(inst *v1alpha1.Installation) bool { return conditions.IsTrue(inst, operationInGit) })
	require.Contains(t, conditions.GetMessage(guarded, operationInGit), v1alpha1.ReconcileIfChangedAnnotation, "the message names the cure")
	s.AwaitEvents(1, "LoopGuard", "one")

	quiet := time.Now()
	s.awaitSyncs(3)
	s.RequireNoWrites(quiet)
	s.RequireJobs(1, "one")
	s.AwaitEvents(1, "LoopGuard", "one")

	s.awaitSynced(s.commit(leaf{name: "one", value: "second", annotations: inGit}))
	s.requireValue("one", "second")
	s.RequireJobs(2, "one")
	s.AwaitEvents(1, "LoopGuard", "one")

	s.commit(leaf{name: "one", value: "second"})
	s.AwaitState("one", func(inst *v1alpha1.Installation) bool { return !conditions.Has(inst, operationInGit) })
	s.RequireJobs(2, "one")
}

// TestInterruptInGitEndsNoLaterJob commits the annotation that ends a job.
func TestInterruptInGitEndsNoLaterJob(t *testing.T) {
	t.Parallel()
	inGit := map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationInterrupt, v1alpha1.ReconcileIfChangedAnnotation: "true"}
	s := newSynced(t, leaf{name: "one", value: "first", annotations: inGit})
	s.awaitReadyOnce("one")
	s.requireValue("one", "first")
	kept := s.AwaitState("one", func(inst *v1alpha1.Installation) bool { return conditions.IsTrue(inst, operationInGit) })
	require.Contains(t, conditions.GetMessage(kept, operationInGit), "Remove it in Git")

	quiet := time.Now()
	s.awaitSyncs(3)
	s.RequireNoWrites(quiet)
	s.AwaitEvents(1, "InterruptInGit", "one")

	s.awaitSynced(s.commit(leaf{name: "one", value: "second", annotations: inGit}))
	s.requireValue("one", "second")
	s.RequireJobs(2, "one")

	s.commit(leaf{name: "one", value: "second", annotations: map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"}})
	s.AwaitState("one", func(inst *v1alpha1.Installation) bool { return !conditions.Has(inst, operationInGit) })
	s.RequireJobs(2, "one")
}
