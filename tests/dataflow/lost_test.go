// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestAChildThatSomebodyDeletedIsShown(t *testing.T) {
	t.Parallel()
	item := func(s *scene, execution string) client.Object {
		items := &v1alpha1.DeployItemList{}
		labels := client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: execution}
		require.NoError(t, s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace), labels))
		require.Len(t, items.Items, 1)
		lost := &items.Items[0]
		lost.Finalizers = nil // its deployer shall not see it go, nor put the finalizer back
		lost.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = "true"
		require.NoError(t, s.Client().Update(s.Ctx, lost))
		return lost
	}
	execution := func(s *scene, name string) client.Object { return &v1alpha1.Execution{ObjectMeta: s.Named(name)} }
	for name, lost := range map[string]func(*scene) client.Object{
		"a sub-installation":                  func(s *scene) client.Object { return s.Child("root", "sub") },
		"the Execution of a sub-installation": func(s *scene) client.Object { return execution(s, s.Child("root", "sub").Name) },
		"a DeployItem of a sub-installation":  func(s *scene) client.Object { return item(s, s.Child("root", "sub").Name) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			sub := object{"name": "sub", "blueprint": inTemplate(object{"deployExecutions": goTemplate("deployItems:\n" + mockItem("item", "{}"))})}
			s.install("root", object{"blueprint": inline(object{
				"subinstallations": list{sub}, "deployExecutions": goTemplate("deployItems:\n" + mockItem("item", "{}")),
			})})
			job := s.succeeded("root").Status.JobID
			gone := lost(s)
			s.Delete(gone)
			inst := s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
				return conditions.GetReason(inst, meta.ReadyCondition) == "ChildLost"
			})
			assert.True(t, conditions.IsFalse(inst, meta.ReadyCondition))
			told := gone.GetName()
			if lost, ok := gone.(*v1alpha1.DeployItem); ok {
				told = "deploy item item of execution " + lost.Labels[v1alpha1.ExecutionManagedByLabel]
			}
			assert.Contains(t, readyMessage(inst), told+" was deleted")
			assert.Equal(t, v1alpha1.PhaseSucceeded, inst.Status.Phase)
			s.Gone(gone)
			s.RequireStandstill()
			s.RequireJobs(1, "root")
			s.reconcile("root")
			assert.True(t, conditions.IsTrue(s.Ran("root", job, v1alpha1.PhaseSucceeded), meta.ReadyCondition))
			assert.True(t, s.exists(gone), "the job makes it anew")
		})
	}
}
