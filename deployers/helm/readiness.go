// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// session is the way to the objects of the item.
func (j *job) session() *resources.Session {
	labels := map[string]string{v1alpha1.HelmDeployItemLabel: resources.LabelValue(j.item.DeployItem.Name)}
	return resources.NewSession(j.item, j.memory, labels)
}

// checkDefaultReadiness asks whether the objects that were deployed are ready.
func (j *job) checkDefaultReadiness(ctx context.Context) (resources.Progress, error) {
	if j.config.ReadinessChecks.DisableDefault {
		return resources.Progress{}, nil
	}
	subjects := j.subjects
	if subjects == nil {
		for _, managed := range j.status.ManagedResources {
			subjects = append(subjects, resources.Subject{Resource: managed.Resource})
		}
	}
	_, progress, err := j.session().DefaultReadiness(ctx, subjects)
	return progress, err
}

// checkCustomReadiness asks whether the checks of the configuration hold.
func (j *job) checkCustomReadiness(ctx context.Context) (resources.Progress, error) {
	return j.session().CustomReadiness(ctx, j.config.ReadinessChecks.CustomReadinessChecks)
}
