// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// cached collects from a cache with some objects, and counts its reads.
func cached(t *testing.T, objects ...client.Object) (c *Reader, reads map[string]int) {
	t.Helper()
	all := fixture.Cluster(t, relations.Index, objects...)
	cache, reads := fixture.Counting(all)
	return &Reader{Live: all, Reader: cache}, reads
}

// below makes an object controlled by another.
func below[O client.Object](owner client.Object, kind string, object O) O {
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))})
	return object
}

// exported is the metadata of an object that an Installation has exported.
func exported(by *v1alpha1.Installation, name string) metav1.ObjectMeta {
	return below(by, "Installation", &v1alpha1.DataObject{ObjectMeta: named(name)}).ObjectMeta
}

func TestWhatManyImportsNameIsReadOnce(t *testing.T) {
	big, other := fixture.Working("big", "2", ""), fixture.Working("other", "3", "")
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "other", UID: "e"}}
	item := below(execution, "Execution", &v1alpha1.DeployItem{ObjectMeta: named("item")})
	object := &v1alpha1.DataObject{ObjectMeta: exported(big, "in"), Data: v1alpha1.NewAnyJSON([]byte("1"))}
	object.Labels = map[string]string{v1alpha1.ManifestDeployItemLabel: "item"}
	target := &v1alpha1.Target{ObjectMeta: exported(big, "cluster")}
	inst := often(100, v1alpha1.DataImport{DataRef: "in"})
	for i := range 100 {
		inst.Spec.Imports.Targets = append(inst.Spec.Imports.Targets, v1alpha1.TargetImport{Name: "t" + strconv.Itoa(i), Target: "cluster"})
	}
	c, reads := cached(t, big, other, item, object, target)

	found, err := c.collect(t.Context(), inst)

	require.NoError(t, err)
	assert.Len(t, found.Values.Data, 100)
	assert.Len(t, found.Values.Targets, 100)
	assert.Equal(t, map[string]int{
		"*v1alpha1.DataObject": 1, "*v1alpha1.Target": 1, "*v1alpha1.DeployItem": 1, "*v1alpha1.Installation": 2,
	}, reads)
}

// childImporting is a sub-installation of "parent" with imports.
func childImporting(targets ...v1alpha1.TargetImport) *v1alpha1.Installation {
	inst := fixture.Below(fixture.Working("parent", "2", "job"), fixture.Working("child", "1", "job"))
	inst.Spec.Imports.Targets = targets
	return inst
}

// ofParent is a Target that "parent" imports, of a list or map.
func ofParent(name, key, label, value string) *v1alpha1.Target {
	target := &v1alpha1.Target{ObjectMeta: named(name)}
	target.Labels = map[string]string{
		v1alpha1.DataObjectContextLabel: "Inst.parent", v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceImport,
		v1alpha1.DataObjectKeyLabel: key, label: value,
	}
	return target
}

func TestTheTargetsOfTheParentAreListedOnce(t *testing.T) {
	var targets []v1alpha1.TargetImport
	for i := range 50 {
		targets = append(targets,
			v1alpha1.TargetImport{Name: "l" + strconv.Itoa(i), TargetListReference: "list"},
			v1alpha1.TargetImport{Name: "m" + strconv.Itoa(i), TargetMapReference: "map"})
	}
	c, reads := cached(t,
		ofParent("b", "list", v1alpha1.DataObjectIndexLabel, "1"), ofParent("a", "list", v1alpha1.DataObjectIndexLabel, "0"),
		ofParent("c", "map", v1alpha1.DataObjectTargetMapKeyLabel, "key"), ofParent("d", "other", v1alpha1.DataObjectTargetMapKeyLabel, "key"))

	found, err := c.collect(t.Context(), childImporting(targets...))

	require.NoError(t, err)
	assert.Equal(t, map[string]int{"*v1alpha1.TargetList": 1}, reads)
	require.Len(t, found.Values.TargetLists["l49"], 2)
	assert.Equal(t, "a", found.Values.TargetLists["l49"][0].Name)
	assert.Equal(t, "b", found.Values.TargetLists["l49"][1].Name)
	assert.Equal(t, "c", found.Values.TargetMaps["m49"]["key"].Name)
	assert.NotContains(t, found.Targets, "d")
}

// sharing reads Targets as a cache does that copies nothing.
type sharing struct {
	client.Reader
	target *v1alpha1.Target
}

func (s sharing) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	*into.(*v1alpha1.Target) = *s.target
	return nil
}

func (s sharing) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*v1alpha1.TargetList).Items = []v1alpha1.Target{*s.target}
	return nil
}

// TestImportedTargetsAreThoseOfNoCache changes what it has collected.
func TestImportedTargetsAreThoseOfNoCache(t *testing.T) {
	for name, definition := range map[string]v1alpha1.TargetImport{
		"by name":        {Name: "in", Target: "in"},
		"of a list":      {Name: "in", Targets: []string{"in", "in"}},
		"of the parent":  {Name: "in", TargetListReference: "in"},
		"of its own map": {Name: "in", TargetMap: map[string]string{"key": "in"}},
	} {
		t.Run(name, func(t *testing.T) {
			shared := ofParent("in", "in", v1alpha1.DataObjectIndexLabel, "0")
			shared.Spec.Configuration = new(v1alpha1.NewAnyJSON([]byte("1")))
			shared.Status.ObservedGeneration = 3
			before := shared.DeepCopy()
			found, err := (&Reader{Reader: sharing{target: shared}}).collect(t.Context(), childImporting(definition))
			require.NoError(t, err)
			require.Contains(t, found.Targets, "in")
			assert.Equal(t, "Target", found.Targets["in"].Kind)
			assert.Zero(t, found.Targets["in"].Status)
			found.Targets["in"].Labels["changed"], found.Targets["in"].Spec.Configuration.RawMessage[0] = "yes", '2'
			assert.Equal(t, before, shared)
		})
	}
}

// TestAClimbOverOwnersEnds has owners of others' making, of which no more than 64 are Installations at work.
func TestAClimbOverOwnersEnds(t *testing.T) {
	var objects []client.Object
	for i := range 100 {
		inst := fixture.Working("i"+strconv.Itoa(i), "u"+strconv.Itoa(i), "")
		owner := fixture.Working("i"+strconv.Itoa(i+1), "u"+strconv.Itoa(i+1), "")
		objects = append(objects, below(owner, "Installation", inst))
	}
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "i0", UID: "e"}}
	config := &v1alpha1.DataObject{ObjectMeta: named("in")}
	config.Labels = map[string]string{v1alpha1.ManifestDeployItemLabel: "item"}
	objects = append(objects, config, below(execution, "Execution", &v1alpha1.DeployItem{ObjectMeta: named("item")}))
	for name, own := range map[string]bool{"i63": true, "i64": false} {
		t.Run(name, func(t *testing.T) {
			c, reads := cached(t, objects...)
			inst := often(1, v1alpha1.DataImport{DataRef: "in"})
			inst.Name, inst.UID = name, types.UID("u"+name[1:])
			found, err := c.collect(t.Context(), inst)
			require.NoError(t, err)
			assert.Equal(t, own, found.Hash() == "", "what it deploys itself does not count")
			assert.LessOrEqual(t, reads["*v1alpha1.Installation"], 64)
		})
	}
}
