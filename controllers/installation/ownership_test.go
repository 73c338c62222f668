// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// node is an Installation whose UID is its name, owned by another unless owner is empty, and that lists others.
func node(name, owner string, listed ...string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID(name)}}
	if owner != "" {
		inst.Labels = map[string]string{v1alpha1.EncompassedByLabel: owner}
		inst.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: owner, UID: types.UID(owner), Controller: new(true),
		}}
	}
	if len(listed) > 0 {
		inst.Status.SubInstCache = &v1alpha1.SubInstCache{}
	}
	for _, name := range listed {
		pair := v1alpha1.SubNamePair{SpecName: name, ObjectName: name}
		inst.Status.SubInstCache.ActiveSubs = append(inst.Status.SubInstCache.ActiveSubs, pair)
	}
	return inst
}

// serving returns a reconciler that finds objects.
func serving(t *testing.T, installations ...*v1alpha1.Installation) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme)
	for _, inst := range installations {
		builder = builder.WithObjects(inst)
	}
	c := builder.Build()
	return &Reconciler{Client: c, Live: c, Inputs: inputs.Reader{Reader: c, Live: c}}
}

func TestT01ARefusalIsWrittenOnce(t *testing.T) {
	r := serving(t)
	s := &scope{inst: node("child", "child")}
	err := r.checkOwner(t.Context(), s)
	var failure *kit.Failure
	require.ErrorAs(t, err, &failure)
	s.inst.Status.LastError = &v1alpha1.Error{Reason: failure.Reason, Message: failure.Error()}
	require.ErrorIs(t, r.checkOwner(t.Context(), s), kit.ErrStop)
	s.inst.Status.JobID = "running"
	assert.ErrorAs(t, r.checkOwner(t.Context(), s), &failure, "a running job still has to end")
}

func TestT01ForceDeleteOfACircleEnds(t *testing.T) {
	for name, nodes := range map[string][]*v1alpha1.Installation{
		"itself": {node("a", "a")},
		"three":  {node("a", "c"), node("b", "a"), node("c", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			r := serving(t, nodes...)
			found := &remains{leftovers: map[string]leftover{}}
			require.NoError(t, r.surveyTree(t.Context(), nodes[0], found))
			assert.Len(t, found.installations, len(nodes)-1)
		})
	}
}

// planned is a job that plans one sub-installation with a blueprint in place.
func planned(filesystem string) *scope {
	s := &scope{inst: node("parent", ""), children: map[string]*v1alpha1.Installation{}}
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
	child := node(before.ObjectName, "parent")
	child.Annotations = map[string]string{v1alpha1.JobAnnotation: "job"}
	s.children[child.Name] = child
	s.plan = planned(`{"blueprint.yaml":"y"}`).plan
	require.NoError(t, s.listChildren(true))
	assert.Equal(t, before, s.inst.Status.SubInstCache.ActiveSubs[0])
}

// TestT01ACircleIsNoWayDown has a tree in which nobody whom the parent does not list is asked for what ails it.
func TestT01ACircleIsNoWayDown(t *testing.T) {
	root, child, forged := node("a", "", "b"), node("b", "a", "a"), node("c", "a")
	for _, inst := range []*v1alpha1.Installation{root, child, forged} {
		inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: jobs.ReasonChildrenFailed}
	}
	root.OwnerReferences = node("a", "b").OwnerReferences
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	cached := fake.NewClientBuilder().WithScheme(scheme).WithObjects(root, child, forged).
		WithIndex(&v1alpha1.Installation{}, relations.ParentIndex, relations.ParentsOf).Build()
	reason, err := (&Reconciler{Client: cached, Live: cached, Inputs: inputs.Reader{Reader: cached, Live: cached}}).changedContext(t.Context(), root)
	require.NoError(t, err)
	assert.Empty(t, reason)
}
