// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

func subjectsFor(managed []managedresource.ManagedResourceStatus) []resources.Subject {
	subjects := make([]resources.Subject, 0, len(managed))
	for _, m := range managed {
		subjects = append(subjects, resources.Subject{Resource: m.Resource})
	}
	return subjects
}

// checkDefaultReadiness asks whether the objects that were deployed are ready. What was ready once is not asked again.
func (j *job) checkDefaultReadiness(ctx context.Context) error {
	var progress resources.Progress
	var err error
	j.attempt.unready, progress, err = (&resources.ReadinessChecks{Session: j.session(), Health: j.health}).Default(ctx, j.health.Asked(j.attempt.unready))
	if j.attempt.reached != nil {
		resources.ForgetFailedRuns(j.attempt.reached.ManagedResources, j.attempt.unready, err)
	}
	return until(progress, err)
}

// checkCustomReadiness asks whether the checks of the configuration hold.
func (j *job) checkCustomReadiness(ctx context.Context) error {
	return until(resources.CustomChecks(ctx, j.session(), j.config.ReadinessChecks.CustomReadinessChecks))
}
