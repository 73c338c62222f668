// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// TestE09ChildrenFollowTheShard also while no job runs, and also out of all shards.
func TestE09ChildrenFollowTheShard(t *testing.T) {
	s := newStage(t)
	root := s.leafAndParent("root")
	s.create(root)
	child := s.child("root")
	s.finish(s.execution(child.Name, ""), v1alpha1.PhaseSucceeded)
	s.finish(s.execution("root", ""), v1alpha1.PhaseSucceeded)
	s.ended("root", "", v1alpha1.PhaseSucceeded)
	for _, shard := range []string{"one", ""} {
		edit(s, root, func(root *v1alpha1.Installation) {
			if root.Labels = nil; shard != "" {
				root.Labels = map[string]string{protocol.ShardLabel: shard}
			}
		})
		for _, object := range []client.Object{child, &v1alpha1.Execution{ObjectMeta: s.named("root")}, &v1alpha1.Execution{ObjectMeta: s.named(child.Name)}} {
			until(s, object, func(object client.Object) bool { return object.GetLabels()[protocol.ShardLabel] == shard })
		}
		s.quiet()
	}
	assert.Equal(t, 1, s.seen.jobs(s, s.installation("root", always)))
}

// leafAndParent returns an Installation with a deploy item and a sub-installation with another.
func (s *stage) leafAndParent(name string) *v1alpha1.Installation {
	s.t.Helper()
	inst := fixture.Following(s.parentOf(name, "a"))
	files := object{}
	require.NoError(s.t, unmarshalBlueprint(inst, &files))
	files["deployExecutions"] = deploying("own")
	inst.Spec.Blueprint = fixture.InlineBlueprint(files)
	return inst
}

func TestAnInterruptionReachesAllChildren(t *testing.T) {
	s := newStage(t)
	s.create(s.leafAndParent("root"))
	child := s.child("root")
	for _, name := range []string{"root", child.Name} {
		s.execution(name, "")
	}
	s.installation("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
	s.annotate("root", v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	for _, name := range []string{"root", child.Name} {
		execution := until(s, &v1alpha1.Execution{ObjectMeta: s.named(name)}, func(execution *v1alpha1.Execution) bool {
			return execution.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt
		})
		s.finish(execution, v1alpha1.PhaseFailed)
	}
	s.ended(child.Name, "", v1alpha1.PhaseFailed)
	s.ended("root", "", v1alpha1.PhaseFailed)
	s.quiet()
	assert.Equal(t, 1, s.seen.jobs(s, s.installation("root", always)))
}
