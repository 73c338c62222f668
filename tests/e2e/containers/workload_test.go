// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestAFailedJobEndsItsItemWithTheLastLineOfItsLog lets the manifest deployer deploy a Job whose program fails.
func TestAFailedJobEndsItsItemWithTheLastLineOfItsLog(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	program := object{"name": "main", "image": s.shell(), "command": list{"sh", "-c", "echo begun; echo no disk left; exit 3"}}

	failed := s.ended(s.itemOf(v1alpha1.ManifestDeployItemType, "broken", object{"name": "cluster"}, object{
		"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
		"readinessChecks": object{"kstatus": true},
		"manifests": list{object{"policy": "manage", "manifest": object{
			"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": "broken", "namespace": s.Namespace},
			"spec": object{"backoffLimit": 0, "template": object{"spec": object{"restartPolicy": "Never", "containers": list{program}}}},
		}}},
	}))

	require.Equal(t, v1alpha1.PhaseFailed, failed.Status.Phase)
	assert.Contains(t, failed.Status.LastError.Message, `container main: Error, exit code 3; last log line: "no disk left"`)
}
