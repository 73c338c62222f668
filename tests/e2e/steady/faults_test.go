// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package steady

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

var installFaults = map[string]landscape.Fault{
	"quota of sub-installations": {Resource: landscape.Installations, Broken: landscape.Quota},
	"quota of executions":        {Resource: landscape.Executions, Broken: landscape.Quota},
	"quota of items":             {Resource: landscape.DeployItems, Broken: landscape.Quota},
	"quota of data":              {Resource: landscape.DataObjects, Broken: landscape.Quota},
	"quota in the target":        {Resource: landscape.ConfigMaps, Broken: landscape.Quota},
	"dead webhook of executions": {Resource: landscape.Executions, Broken: landscape.DeadWebhook},
	"dead webhook of items":      {Resource: landscape.DeployItems, Broken: landscape.DeadWebhook},
	"dead webhook of the target": {Resource: landscape.ConfigMaps, Broken: landscape.DeadWebhook},
	"policy against executions":  {Resource: landscape.Executions, Broken: landscape.Policy},
	"policy against items":       {Resource: landscape.DeployItems, Broken: landscape.Policy},
	"policy against data":        {Resource: landscape.DataObjects, Broken: landscape.Policy},
	"policy in the target":       {Resource: landscape.ConfigMaps, Broken: landscape.Policy},
}

var deleteFaults = map[string]landscape.Fault{
	"dead webhook of executions": {Resource: landscape.Executions, Broken: landscape.DeadWebhook},
	"dead webhook of items":      {Resource: landscape.DeployItems, Broken: landscape.DeadWebhook},
	"dead webhook of the target": {Resource: landscape.ConfigMaps, Broken: landscape.DeadWebhook},
	"policy against executions":  {Resource: landscape.Executions, Broken: landscape.Policy},
	"policy against items":       {Resource: landscape.DeployItems, Broken: landscape.Policy},
	"policy in the target":       {Resource: landscape.ConfigMaps, Broken: landscape.Policy},
}

// heals reports whether all is well soon after the end of a fault without anybody's help: what refuses our own objects never ends a job. What
// refuses the objects of a target does.
func heals(f landscape.Fault) bool { return f.Resource != landscape.ConfigMaps }

func TestFailedInstallStandsStill(t *testing.T) {
	for name, f := range installFaults {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.alone = heals(f)
			s.Target("cluster")
			mend := f.Begin(s.Scene)
			s.install("first")
			s.awaitTrouble()
			s.RequireStandstill()
			mend()
			s.healthy("first")
			s.Delete(s.Installation("root"))
			s.gone()
		})
	}
}

// TestARefusedExportWithoutChildrenStandsStill has an Installation with nothing but an export, on whose state no child tells.
func TestARefusedExportWithoutChildrenStandsStill(t *testing.T) {
	s := newScene(t)
	mend := landscape.Fault{Resource: landscape.DataObjects, Broken: landscape.Policy}.Begin(s.Scene)
	s.Put("Installation", "root", object{
		"metadata": object{"annotations": object{v1alpha1.ReconcileIfChangedAnnotation: "true"}},
		"spec": object{
			"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": landscape.Blueprint(object{
				"exports":          []any{object{"name": "answer", "type": "data", "schema": object{}}},
				"exportExecutions": landscape.GoTemplate("exports: {answer: 42}\n"),
			})}}},
			"exports": object{"data": []any{object{"name": "answer", "dataRef": "result"}}},
		},
	})
	s.awaitTrouble()
	s.RequireStandstill()
	mend()
	s.Succeeded("root")
	require.Equal(t, "42", s.Value("result"))
}

func TestFailedDeletionStandsStill(t *testing.T) {
	for name, f := range deleteFaults {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.alone = heals(f)
			s.Target("cluster")
			s.install("first")
			s.healthy("first")
			mend := f.Begin(s.Scene)
			s.Delete(s.Installation("root"))
			s.awaitTrouble()
			s.RequireStandstill()
			mend()
			s.gone()
		})
	}
}

// forceFaults are in the way of a deletion by force, which writes its record into a ConfigMap.
var forceFaults = map[string]landscape.Fault{
	"quota of records":          {Resource: landscape.ConfigMaps, Broken: landscape.Quota},
	"policy against records":    {Resource: landscape.ConfigMaps, Broken: landscape.Policy},
	"policy against executions": {Resource: landscape.Executions, Broken: landscape.Policy},
	"policy against items":      {Resource: landscape.DeployItems, Broken: landscape.Policy},
}

func TestFailedDeletionByForceStandsStillAndHeals(t *testing.T) {
	for name, f := range forceFaults {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			s.install("first")
			s.healthy("first")
			mend := f.Begin(s.Scene)
			root := s.Installation("root")
			s.Annotate(root, v1alpha1.ForceDeleteAnnotation, "true")
			s.Delete(root)
			refused := s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
				return conditions.GetReason(inst, meta.ReadyCondition) == meta.ProgressingWithRetryReason
			})
			assert.False(t, conditions.IsStalled(refused))
			assert.True(t, conditions.IsReconciling(refused))
			s.RequireStandstill()
			mend()
			s.Gone(root)
			assert.Empty(t, s.Workers())
		})
	}
}

// TestFailedUpdateOfADeadTargetStandsStill closes the API of the target while something changes, and opens it again.
func TestFailedUpdateOfADeadTargetStandsStill(t *testing.T) {
	s := newScene(t)
	door := s.targetBehindDoor()
	s.install("first")
	s.healthy("first")
	door.Close()
	s.install("second")
	s.awaitTrouble()
	s.RequireStandstill()
	require.NoError(t, door.Open())
	s.healthy("second")
	door.Close()
	s.Delete(s.Installation("root"))
	s.awaitTrouble()
	s.RequireStandstill()
	require.NoError(t, door.Open())
	s.gone()
}

// TestRevokedRightsStandStill takes away a right of the user that the Target names.
func TestRevokedRightsStandStill(t *testing.T) {
	s := newScene(t)
	revoke := s.targetWithRights("configmaps", "secrets")
	s.install("first")
	s.healthy("first")
	grant := revoke()
	s.install("second")
	s.awaitTrouble()
	s.RequireStandstill()
	grant()
	s.healthy("second")
	grant = revoke()
	s.Delete(s.Installation("root"))
	s.awaitTrouble()
	s.RequireStandstill()
	grant()
	s.gone()
}
