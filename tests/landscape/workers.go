// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"slices"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Workers lists the jobs of all Installations, Executions and DeployItems of the scene.
func (s *Scene) Workers() (all []*v1alpha1.JobStatus) {
	s.T.Helper()
	installations, executions, items := &v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}
	for _, list := range []client.ObjectList{installations, executions, items} {
		require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace)))
	}
	for i := range installations.Items {
		all = append(all, installations.Items[i].Job())
	}
	for i := range executions.Items {
		all = append(all, executions.Items[i].Job())
	}
	for i := range items.Items {
		all = append(all, items.Items[i].Job())
	}
	return all
}

// IsTrouble reports whether a job shows an error that is more than unfinished work.
func IsTrouble(job *v1alpha1.JobStatus) bool {
	return job.LastError != nil && !slices.Contains(job.LastError.Codes, v1alpha1.ErrorUnfinished)
}
