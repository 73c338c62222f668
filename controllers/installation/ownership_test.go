// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestT01ARefusalIsWrittenOnce(t *testing.T) {
	r := with(t)
	s := &scope{inst: fixture.Node("child", "child")}
	err := r.checkOwner(t.Context(), s)
	var failure *kit.Failure
	require.ErrorAs(t, err, &failure)
	s.inst.Status.LastError = &v1alpha1.Error{Reason: failure.Reason, Message: failure.Error()}
	require.ErrorIs(t, r.checkOwner(t.Context(), s), kit.ErrStop)
	s.inst.Status.JobID = "running"
	assert.ErrorAs(t, r.checkOwner(t.Context(), s), &failure, "a running job still has to end")
}

// planned is a job that plans one sub-installation with a blueprint in place.
func planned(filesystem string) *scope {
	s := &scope{inst: fixture.Node("parent", ""), children: map[string]*v1alpha1.Installation{}}
	s.inst.Status.JobID = "job"
	s.plan = &plan{subinstallations: []model.InstallationTemplate{{
		Name: "sub", Blueprint: model.InstallationTemplateBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(filesystem))},
	}}}
	return s
}

func TestT02AChildThatHasTheJobKeepsWhatWasRecorded(t *testing.T) {
	s := planned(`{"blueprint.yaml":"x"}`)
	require.NoError(t, s.listChildren(true))
	before := s.inst.Status.SubInstCache.ActiveSubs[0]
	sealed, err := inputs.InPlaceDigest([]byte(`{ "blueprint.yaml": "x" }`))
	require.NoError(t, err)
	require.Equal(t, sealed, before.BlueprintDigest)
	child := fixture.Node(before.ObjectName, "parent")
	child.Annotations = map[string]string{v1alpha1.JobAnnotation: "job"}
	s.children[child.Name] = child
	s.plan = planned(`{"blueprint.yaml":"y"}`).plan
	require.NoError(t, s.listChildren(true))
	assert.Equal(t, before, s.inst.Status.SubInstCache.ActiveSubs[0])
}

// TestT01ACircleIsNoWayDown has a tree in which nobody whom the parent does not list is asked for what ails it.
func TestT01ACircleIsNoWayDown(t *testing.T) {
	root, child, forged := fixture.Node("a", "", "b"), fixture.Node("b", "a", "a"), fixture.Node("c", "a")
	for _, inst := range []*v1alpha1.Installation{root, child, forged} {
		inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: jobs.ReasonChildrenFailed}
	}
	root.OwnerReferences = fixture.Node("a", "b").OwnerReferences
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(root, child, forged).
		WithIndex(&v1alpha1.Installation{}, relations.ParentIndex, relations.ParentsOf).Build()
	reason, err := (&Reconciler{Client: cached, Live: cached, Inputs: inputs.Reader{Reader: cached, Live: cached}}).changedContext(t.Context(), root)
	require.NoError(t, err)
	assert.Empty(t, reason)
}
