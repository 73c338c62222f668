// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// scope is everything that one reconciliation has read and decided so far.
type scope struct {
	inst      *v1alpha1.Installation
	persisted *v1alpha1.InstallationStatus
	now       time.Time
	jitter    kit.Jitter

	execution *v1alpha1.Execution
	// foreign says that somebody else's Execution has the name that ours would have.
	foreign bool
	// children are the sub-installations by object name.
	children map[string]*v1alpha1.Installation
	// reloading reads blueprint and imports although the children already have their specs.
	reloading bool
	// automatic says that the clock started the job of this reconciliation.
	automatic bool
	// triggered says why a job was started in this reconciliation.
	triggered string
	// clusters issues kubeconfigs to templates; nil where the process does not.
	clusters *issuer
	// remains is what a deletion by force has found.
	remains *remains
	// outcome is set when the running job ended in this reconciliation.
	outcome *outcome
	// requeue is when to look again without an event; 0 is never.
	requeue time.Duration

	// context is nil where the controller needs none.
	context *installationContext
	source  *resolvedSource
	// component is nil where there is none.
	component *resolvedComponent
	// borrowed are the components that have to stay open.
	borrowed  []*lease
	blueprint *loadedBlueprint
	imports   *collectedImports
	plan      *plan
}

// applied tells whether all children already have the specs of the running job. With sub-installations the phase says so, without them
// the Execution does.
func (s *scope) applied() bool {
	if s.reloading || s.triggered != "" || s.inst.Status.Phase == v1alpha1.PhaseInit {
		return false
	}
	return s.inst.Status.SubInstCache != nil || s.execution != nil && s.hasJob(s.execution)
}

// wake asks for another look after d unless an earlier one is planned.
func (s *scope) wake(d time.Duration) {
	if d > 0 && (s.requeue == 0 || d < s.requeue) {
		s.requeue = d
	}
}
