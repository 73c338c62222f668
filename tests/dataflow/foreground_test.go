// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestADeletionInTheForegroundKeepsTheOrder deletes a root in the foreground: the garbage collector then deletes everything below it at once. What
// a producer deployed has to stay until its consumer, further sub-installations of both included, is gone.
func TestADeletionInTheForegroundKeepsTheOrder(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	nested := func(name string, parts object, items string) object {
		sub := part(name, items)
		parts["imports"] = append(list{}, append(targetImport, anyList(parts["imports"])...)...)
		parts["subinstallations"] = list{part("deep", value("deep-"+name, "same"))}
		parts["deployExecutions"] = goTemplate("deployItems:\n" + items)
		sub["blueprint"] = inTemplate(parts)
		return sub
	}
	producer := nested("producer", object{"exports": dataExports("out"), "exportExecutions": goTemplate("exports: {out: x}")}, value("of-producer", "same"))
	producer["exports"] = object{"data": refs("out")}
	consumer := nested("consumer", object{"imports": dataImports("out")}, value("of-consumer", "same"))
	consumer["imports"].(object)["data"] = refs("out")
	s.install("root", deploying(value("of-root", "same"), producer, consumer))
	s.succeeded("root")

	letGo := s.hold("of-consumer")
	require.NoError(t, s.Client().Delete(s.Ctx, s.Installation("root"), client.PropagationPolicy(metav1.DeletePropagationForeground)))
	require.Eventually(t, func() bool {
		config := s.config("of-consumer")
		return s.exists(config) && !config.DeletionTimestamp.IsZero()
	}, landscapePatience, tick)
	s.RequireStandstill()
	for _, name := range []string{"of-producer", "deep-producer"} {
		config := s.config(name)
		assert.True(t, s.exists(config) && config.DeletionTimestamp.IsZero(), name)
	}
	letGo()
	s.Gone(s.Installation("root"))
	assert.Empty(t, s.configs())
	require.Eventually(t, func() bool { return len(s.objectsOf()) == 0 }, landscapePatience, tick, "%v", s.objectsOf())
}

// anyList is a list, or an empty one.
func anyList(value any) list {
	found, _ := value.(list)
	return found
}

// TestWhatADeletionWithOrphansLeftIsTakenOver follows the advice of the errors of a new root of the same name.
func TestWhatADeletionWithOrphansLeftIsTakenOver(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	spec := deploying(value("of-root", "same"), part("a", value("of-a", "same")))
	s.install("root", spec)
	s.succeeded("root")
	before := s.configs()
	require.Len(t, before, 2)
	left := []client.Object{s.Child("root", "a"), &v1alpha1.Execution{ObjectMeta: s.Named("root")}}
	require.NoError(t, s.Client().Delete(s.Ctx, s.Installation("root"), client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	s.Gone(s.Installation("root"))

	s.install("root", spec)
	problem := s.failed("root")
	assert.Equal(t, "InstallationExists", problem.Reason)
	assert.Contains(t, problem.Message, left[0].GetName())
	assert.Contains(t, problem.Message, v1alpha1.DeleteWithoutUninstallAnnotation+"=true")
	for _, object := range left {
		s.Annotate(object, v1alpha1.DeleteWithoutUninstallAnnotation, "true")
		s.Delete(object)
		s.Gone(object)
	}
	s.reconcile("root")
	s.succeeded("root")
	after := s.configs()
	for name, config := range before {
		assert.Equal(t, config.UID, after[name].UID, name)
	}
}
