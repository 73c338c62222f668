// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// awaitClock waits for the end of a job that the clock has started.
func (s *served) awaitClock(item *v1alpha1.DeployItem) {
	s.t.Helper()
	last := item.Status.JobIDFinished
	s.await(item, func() bool {
		return item.Status.JobIDFinished != last && item.Status.IsIdle() && strings.HasPrefix(item.Status.JobID, v1alpha1.ContinuousJobPrefix)
	})
}

func TestB1303ContinuousReconcileOfManifests(t *testing.T) {
	s := serve(t)
	item := s.create(header + `continuousReconcile: {every: 1s}
manifests:
- {manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: NS}, data: {v: one}}}
`)
	s.finish(item)
	since, status := time.Now(), string(item.Status.ProviderStatus.Raw)
	s.awaitClock(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.JSONEq(t, status, string(item.Status.ProviderStatus.Raw))
	requests, err := s.p.Requests(t.Context(), since)
	require.NoError(t, err)
	for _, request := range requests {
		assert.False(t, request.User == s.namespace && request.Writes(), "nothing has changed on the target, and the deployer writes %s %s", request.Verb, request.Path)
	}

	deployed := s.configMap("a")
	s.await(deployed, func() bool { return deployed.Data["v"] == "one" })
	deployed.Data["v"] = "by hand"
	require.NoError(t, s.p.Client().Update(t.Context(), deployed))
	s.await(deployed, func() bool { return deployed.Data["v"] == "one" })
	require.NoError(t, s.p.Client().Delete(t.Context(), deployed))
	s.await(item, func() bool {
		return s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(deployed), deployed) == nil
	})
}
