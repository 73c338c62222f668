// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestAnInstallationShowsWhatDriftedBelow(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.data("base", "cm")
	s.install("root", named("names", namer("one", "base", "-x")))
	s.succeeded("root")
	child := s.Child("root", "one").Name
	items := s.everyItem()
	require.Len(t, items, 1)
	assert.Equal(t, "cluster", items[0].Annotations[v1alpha1.OriginalTargetAnnotation], "that of a person")
	assert.NotEqual(t, "cluster", items[0].Spec.Target.Name, "it is that of the copy")
	shown := func(name, message string) {
		t.Helper()
		inst := s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
			return conditions.GetMessage(inst, v1alpha1.DriftedCondition) == message
		})
		assert.Equal(t, message != "", conditions.IsTrue(inst, v1alpha1.DriftedCondition))
	}

	config := s.config("cm")
	require.True(t, s.exists(config))
	deployed := config.Data["value"]
	config.Data["value"] = "by hand"
	require.NoError(t, s.Client().Update(s.Ctx, config))
	shown(child, "Not as deployed: deploy item item")
	shown("root", "Not as deployed: sub-installation "+child)
	s.RequireStandstill()

	config.Data["value"] = deployed
	require.NoError(t, s.Client().Update(s.Ctx, config))
	shown("root", "")
	shown(child, "")
	s.RequireStandstill()
	s.RequireJobs(1, "root", child)
}
