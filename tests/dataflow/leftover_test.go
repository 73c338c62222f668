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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// targetProducer is the spec of a root that passes its Target on under another name, or not.
func targetProducer(exports bool) object {
	parts := object{
		"imports": list{object{"name": "cluster", "targetType": clusterType}},
		"exports": list{object{"name": "out", "type": "target", "targetType": clusterType}},
		"exportExecutions": goTemplate("exports:\n  out:\n    type: " + clusterType +
			"\n    config: {{ toJson .imports.cluster.spec.config }}\n"),
	}
	spec := object{
		"blueprint": inline(parts),
		"imports":   object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
	}
	if exports {
		spec["exports"] = object{"targets": list{object{"name": "out", "target": "passed-on"}}}
	}
	return spec
}

// targetConsumer deploys one ConfigMap through the Target that targetProducer exports.
func targetConsumer() object {
	return object{
		"blueprint": inline(object{
			"imports":          list{object{"name": "cluster", "targetType": clusterType}},
			"deployExecutions": goTemplate("deployItems:\n" + configItem("item", "{import: cluster}", "deployed", "x")),
		}),
		"imports": object{"targets": list{object{"name": "cluster", "target": "passed-on"}}},
	}
}

func (s *scene) target(name string) *v1alpha1.Target {
	return &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace}}
}

func TestADroppedTargetExportStaysUntilItsConsumerIsUninstalled(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	produce := func(exports bool) {
		s.install("producer", targetProducer(exports))
		s.succeeded("producer")
	}
	produce(true)
	s.install("consumer", targetConsumer())
	job := s.succeeded("consumer").Status.JobID

	t.Log("it can come back")
	produce(false)
	produce(true)
	fresh := s.target("passed-on")
	require.True(t, s.exists(fresh))
	assert.True(t, fresh.DeletionTimestamp.IsZero())
	s.reconcile("consumer")
	s.Ran("consumer", job, v1alpha1.PhaseSucceeded)

	t.Log("it stays while it is needed to uninstall")
	produce(false)
	kept := s.target("passed-on")
	require.True(t, s.exists(kept))
	assert.False(t, kept.DeletionTimestamp.IsZero())
	s.reconcile("consumer")
	assert.Contains(t, s.failed("consumer").Message, "not exported any more")
	consumer := s.Installation("consumer")
	s.Delete(consumer)
	s.Gone(consumer, s.config("deployed"), kept)

	t.Log("without a consumer it goes")
	produce(true)
	require.True(t, s.exists(s.target("passed-on")))
	s.install("producer", targetProducer(false))
	s.Gone(s.target("passed-on"))
}

func TestAJobStartsWhenTheExecutionInItsWayIsGone(t *testing.T) {
	s := newScene(t)
	foreign := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "root", Namespace: s.Namespace}}
	require.NoError(t, s.Client().Create(s.Ctx, foreign))
	s.install("root", object{"blueprint": inline(object{"deployExecutions": goTemplate("deployItems:\n" + mockItem("item", "{}"))})})
	assert.Equal(t, "ExecutionExists", s.failed("root").Reason)
	s.Delete(foreign)
	s.succeeded("root")
	s.RequireJobs(2, "root")
}

// TestANewInstallationDeploysWhatAFormerLeftHalfDeleted has a person who removes the finalizer of a root whose deletion has failed, and makes the root
// anew.
func TestANewInstallationDeploysWhatAFormerLeftHalfDeleted(t *testing.T) {
	t.Parallel()
	imports := list{object{"name": "cluster", "targetType": clusterType}}
	handed := object{"targets": list{object{"name": "cluster", "target": "cluster"}}}
	leaf := object{"imports": imports, "deployExecutions": goTemplate("deployItems:\n" + configItem("item", "{import: cluster}", "deployed", "x"))}
	nested := object{"imports": imports, "subinstallations": list{object{"name": "sub", "imports": handed, "blueprint": inTemplate(leaf)}}}
	for name, tc := range map[string]struct {
		blueprint object
		left      func(s *scene) client.Object
	}{
		"Execution":        {leaf, func(s *scene) client.Object { return &v1alpha1.Execution{ObjectMeta: s.Named("root")} }},
		"sub-installation": {nested, func(s *scene) client.Object { return s.Child("root", "sub") }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			access, revoke := s.LimitedDeployer("configmaps", "secrets")
			s.TargetOf("cluster", access)
			root := object{"imports": handed, "blueprint": inline(tc.blueprint)}
			s.install("root", root)
			s.succeeded("root")
			left := tc.left(s)
			grant := revoke()
			s.Delete(s.Installation("root"))
			s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
				return inst.Status.Phase == v1alpha1.PhaseDeleteFailed && inst.Status.IsIdle()
			})
			former := s.Installation("root")
			require.NoError(t, s.Client().Patch(s.Ctx, former, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
			s.Gone(former)

			s.install("root", root)
			s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
				message := conditions.GetMessage(inst, meta.ReadyCondition)
				return strings.Contains(message, "of a former Installation with the same name could not be deleted") && strings.Contains(message, "configmaps")
			})
			grant()
			s.Annotate(left, v1alpha1.OperationAnnotation, "reconcile")
			s.succeeded("root")
			s.RequireJobs(3, "root")
			s.RequireStandstill()
		})
	}
}
