// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestADeletionByForceFindsWhatHasLostItsLabels(t *testing.T) {
	owned := func(owner client.Object, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: owner.GetName(), UID: types.UID("below-" + owner.GetUID()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))},
		}
	}
	top, child, other := fixture.Node("top", ""), fixture.Node("child", "top"), fixture.Node("other", "")
	child.Labels = nil
	objects := []client.Object{top, child, other}
	for _, inst := range []*v1alpha1.Installation{top, child, other} {
		execution := &v1alpha1.Execution{ObjectMeta: owned(inst, "Installation")}
		objects = append(objects, execution, &v1alpha1.DeployItem{ObjectMeta: owned(execution, "Execution")})
	}
	found, err := (&Reconciler{Live: fixture.Cluster(t, relations.Index, objects...)}).survey(t.Context(), top)
	require.NoError(t, err)
	require.Len(t, found.installations, 1)
	assert.Equal(t, "child", found.installations[0].Name)
	assert.Len(t, found.executions, 2)
	require.Len(t, found.items, 2)
	assert.Contains(t, found.record["child"], "installation: top/child\nitem: child\n")
	assert.NotContains(t, found.record, "other")
}

func TestARecordOfWhatStaysIsOnlyAddedTo(t *testing.T) {
	for name, tc := range map[string]struct {
		present, found map[string]string
		uid            string
		want           []string
		fails          bool
	}{
		"of the same Installation": {map[string]string{"gone": "1"}, map[string]string{"item": "2"}, "u-1", []string{"gone", "item"}, false},
		"nothing is new":           {map[string]string{"item": "1"}, map[string]string{"item": "2"}, "u-1", []string{"item"}, false},
		"of somebody else":         {map[string]string{"gone": "1"}, map[string]string{"item": "2"}, "other", []string{"gone"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Working("root", "u-1", "job")
			record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "n", Name: leftoversName(inst), Annotations: map[string]string{v1alpha1.LeftBehindLabel: tc.uid},
			}, Data: tc.present}
			c := fixture.Cluster(t, relations.Index, record)
			wanted := record.DeepCopy()
			wanted.Data = tc.found
			err := (&Reconciler{Client: c, Live: c}).addLeftovers(t.Context(), inst, wanted)
			assert.Equal(t, tc.fails, err != nil)
			require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(record), record))
			assert.ElementsMatch(t, tc.want, slices.Sorted(maps.Keys(record.Data)))
			assert.Equal(t, tc.present[tc.want[0]], record.Data[tc.want[0]])
		})
	}
}

func TestARecordThatIsTooLargeNamesItsItems(t *testing.T) {
	large := leftover{Item: "large", Resources: make([]recordedResource, 1<<14)}
	for i := range large.Resources {
		large.Resources[i].Name = strings.Repeat("x", 60)
	}
	found := &remains{record: map[string]string{}}
	require.NoError(t, found.note("a", leftover{Item: "small"}))
	require.NoError(t, found.note("b", large))
	assert.Contains(t, found.record["a"], "item: small")
	assert.Contains(t, found.record["b"], "16384 resources did not fit")
	assert.Less(t, len(found.record["b"]), 1<<10)
}

func TestTheEventOfADeletionByForceIsShort(t *testing.T) {
	found := &remains{record: map[string]string{}}
	for _, letter := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		require.NoError(t, found.note(letter, leftover{Installation: "root/child", Item: strings.Repeat(letter, 40), Type: "example.com/none", Target: "cluster"}))
	}
	for _, text := range []string{found.summary("record"), found.summary("")} {
		assert.Contains(t, text, "26 deploy items")
		assert.Contains(t, text, ": root/child/aaa")
		assert.LessOrEqual(t, len(text), 1024)
		assert.True(t, strings.HasSuffix(text, "…"))
	}
	assert.Contains(t, found.summary("record"), "see ConfigMap record")
}

func TestTheEventInPlaceOfTheRecordNamesWhatStays(t *testing.T) {
	resources := []recordedResource{{Kind: "Namespace", Name: "cluster-wide"}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		resources = append(resources, recordedResource{Kind: "ConfigMap", Namespace: "n", Name: name})
	}
	found := &remains{record: map[string]string{}}
	for name, left := range map[string]leftover{
		"nothing recorded": {Installation: "root", Item: "z", Type: "example.com/none"},
		"many":             {Installation: "root/child", Item: "a", Type: "manifest", Target: "cluster", Resources: resources},
		"a release":        {Installation: "root", Item: "b", Type: "helm", Target: "cluster", Release: "n/r"},
	} {
		require.NoError(t, found.note(name, left))
	}
	assert.Contains(t, found.summary(""), "root/b (helm on cluster) with release n/r, "+
		"root/child/a (manifest on cluster) with Namespace cluster-wide, ConfigMap n/a, ConfigMap n/b, ConfigMap n/c, ConfigMap n/d, 1 more, "+
		"root/z (example.com/none)")
}

func TestT01ForceDeleteOfACircleEnds(t *testing.T) {
	for name, nodes := range map[string][]*v1alpha1.Installation{
		"itself": {fixture.Node("a", "a")},
		"three":  {fixture.Node("a", "c"), fixture.Node("b", "a"), fixture.Node("c", "b")},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for _, node := range nodes {
				objects = append(objects, node)
			}
			found, err := (&Reconciler{Live: fixture.Cluster(t, relations.Index, objects...)}).survey(t.Context(), nodes[0])
			require.NoError(t, err)
			assert.Len(t, found.installations, len(nodes)-1)
		})
	}
}

// surveyChain surveys Installations below each other, each with a DeployItem of its name and said to be made from a template.
func surveyChain(t *testing.T, length int, template string) *remains {
	t.Helper()
	owned := func(owner client.Object, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: owner.GetName(), UID: types.UID("below-" + owner.GetUID()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))},
		}
	}
	var objects []client.Object
	for i, above := 0, ""; i < length; i++ {
		inst := fixture.Node(fmt.Sprintf("i%d", i), above)
		inst.Annotations = map[string]string{v1alpha1.SubinstallationNameAnnotation: template}
		execution := &v1alpha1.Execution{ObjectMeta: owned(inst, "Installation")}
		objects = append(objects, inst, execution, &v1alpha1.DeployItem{ObjectMeta: owned(execution, "Execution")})
		above = inst.Name
	}
	top := objects[0].(*v1alpha1.Installation)
	found, err := (&Reconciler{Live: fixture.Cluster(t, relations.Index, objects...)}).survey(t.Context(), top)
	require.NoError(t, err)
	require.Len(t, found.record, length)
	return found
}

func TestPathsOfADeletionByForceAreShort(t *testing.T) {
	for name, tc := range map[string]struct {
		length   int
		template string
		want     string
	}{
		"named by their templates":         {3, "sub", "i0/sub/sub"},
		"named by themselves":              {3, "", "i0/i1/i2"},
		"as long as a name":                {2, strings.Repeat("x", 63), "i0/" + strings.Repeat("x", 63)},
		"longer than a name":               {3, strings.Repeat("x", 64), "i0/i1/i2"},
		"as deep as Installations work":    {64, "sub", "i0" + strings.Repeat("/sub", 63)},
		"deeper, and nothing is forgotten": {70, strings.Repeat("x", 63), "…" + strings.Repeat("/"+strings.Repeat("x", 63), 64)},
	} {
		t.Run(name, func(t *testing.T) {
			found := surveyChain(t, tc.length, tc.template)
			assert.Len(t, found.installations, tc.length-1)
			assert.Contains(t, found.record[fmt.Sprintf("i%d", tc.length-1)], "installation: "+tc.want+"\n")
		})
	}
}
