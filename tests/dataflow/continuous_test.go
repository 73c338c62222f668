// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// repeated is a deploy item that deploys a ConfigMap, and does so again by the clock.
func repeated(item, target, config string) string {
	return strings.NewReplacer(
		"  config:\n", "  timeout: 3s\n  config:\n", "updateStrategy: update\n", "updateStrategy: update\n    continuousReconcile: {every: 1s}\n",
	).Replace(configItem(item, target, config, "x"))
}

func TestB1303FailureByTheClockReachesTheRoot(t *testing.T) {
	s := newScene(t)
	access, revoke := s.LimitedDeployer("configmaps", "secrets")
	s.TargetOf("cluster", access)
	imports := list{object{"name": "cluster", "targetType": clusterType}}
	handed := object{"targets": list{object{"name": "cluster", "target": "cluster"}}}
	s.install("root", object{"imports": handed, "blueprint": inline(object{"imports": imports, "subinstallations": list{object{
		"name": "sub", "imports": handed, "blueprint": inTemplate(object{
			"imports": imports, "deployExecutions": goTemplate("deployItems:\n" + repeated("it", "{import: cluster}", "deployed")),
		}),
	}}})})
	job := s.succeeded("root").Status.JobID

	grant := revoke()
	inst := s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return conditions.GetReason(inst, meta.ReadyCondition) == "ContinuousReconcileFailed"
	})
	assert.True(t, conditions.IsFalse(inst, meta.ReadyCondition))
	assert.True(t, conditions.IsReconciling(inst), "the clock tries again")
	assert.Contains(t, readyMessage(inst), s.Child("root", "sub").Name+": since the last job deploy item it")
	assert.Equal(t, v1alpha1.PhaseSucceeded, inst.Status.Phase)

	grant()
	inst = s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return conditions.IsTrue(inst, meta.ReadyCondition) })
	assert.Equal(t, job, inst.Status.JobID, "no job of the root has begun")
	assert.False(t, conditions.IsReconciling(inst))
	s.RequireJobs(1, "root")

	config := s.config("deployed")
	require.NoError(t, s.Client().Delete(s.Ctx, config))
	require.NoError(t, s.Await(s.Ctx, config, func() bool { return config.DeletionTimestamp == nil && config.UID != "" }), "the clock deploys it again")

	root := s.Installation("root")
	s.Delete(root)
	s.Gone(root)
	assert.False(t, s.exists(config))
}

func TestB1303ContinuousReconcileOfMocks(t *testing.T) {
	s := newScene(t)
	s.Put("DeployItem", "pretend", object{
		"metadata": object{"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationTestReconcile}},
		"spec": object{"type": "landscaper.gardener.cloud/mock", "config": object{
			"apiVersion": "mock.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
			"continuousReconcile": object{"every": "1s"}, "export": object{"a": "b"},
		}},
	})
	item := &v1alpha1.DeployItem{ObjectMeta: s.Named("pretend")}
	s.awaitItem(item, func() bool {
		return item.Job().IsIdle() && strings.HasPrefix(item.Status.JobIDFinished, v1alpha1.ContinuousJobPrefix)
	})
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	require.NotNil(t, item.Status.ExportReference)
}
