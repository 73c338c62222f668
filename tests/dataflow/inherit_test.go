// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// annotated returns how many objects below the root there are, and how many of them have an annotation.
func (s *scene) annotated(root, name string) (all, with int) {
	s.T.Helper()
	installations, executions, items := &v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}
	for _, list := range []client.ObjectList{installations, executions, items} {
		require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace)))
	}
	var objects []client.Object
	for i := range installations.Items {
		objects = append(objects, &installations.Items[i])
	}
	for i := range executions.Items {
		objects = append(objects, &executions.Items[i])
	}
	for i := range items.Items {
		objects = append(objects, &items.Items[i])
	}
	for _, object := range objects {
		if _, ok := object.(*v1alpha1.Installation); ok && object.GetName() == root {
			continue
		}
		all++
		if object.GetAnnotations()[name] == "true" {
			with++
		}
	}
	return all, with
}

func TestCacheHelmChartsIsPassedOn(t *testing.T) {
	s := newScene(t)
	sub := object{"name": "sub", "blueprint": inTemplate(object{"deployExecutions": goTemplate("deployItems:\n" + mockItem("low", "{}"))})}
	spec := object{"blueprint": inline(object{
		"deployExecutions": goTemplate("deployItems:\n" + mockItem("high", "{}")), "subinstallations": list{sub},
	})}
	s.installWith("root", spec, object{v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.CacheHelmChartsAnnotation: "true"})
	first := s.succeeded("root")
	all, with := s.annotated("root", v1alpha1.CacheHelmChartsAnnotation)
	require.Equal(t, 5, all, "two executions, two deploy items, one sub-installation")
	assert.Equal(t, 5, with)

	s.Annotate(s.Installation("root"), v1alpha1.CacheHelmChartsAnnotation, nil)
	s.reconcile("root")
	s.Ran("root", first.Status.JobID, v1alpha1.PhaseSucceeded)
	all, with = s.annotated("root", v1alpha1.CacheHelmChartsAnnotation)
	assert.Equal(t, 5, all)
	assert.Zero(t, with, "removed again with the next job")
}
