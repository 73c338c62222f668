// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// scope is everything that one reconciliation has read and decided so far.
type scope struct {
	inst      *v1alpha1.Installation
	persisted *v1alpha1.InstallationStatus
	now       time.Time

	execution *v1alpha1.Execution
	// triggered says why a job was started in this reconciliation.
	triggered string
	// outcome is set when the running job ended in this reconciliation.
	outcome *outcome
	// requeue is when to look again without an event; 0 is never.
	requeue time.Duration

	source    *resolvedSource
	blueprint *loadedBlueprint
	imports   *collectedImports
	plan      *plan
}

// applied tells whether the Execution already has the spec of the running job.
func (s *scope) applied() bool {
	return s.execution != nil && s.execution.Annotations[v1alpha1.JobAnnotation] == s.inst.Status.JobID
}

// wake asks for another look after d unless an earlier one is planned.
func (s *scope) wake(d time.Duration) {
	if d > 0 && (s.requeue == 0 || d < s.requeue) {
		s.requeue = d
	}
}
