// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package force

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

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
			c := cluster.With(t, record)
			wanted := record.DeepCopy()
			wanted.Data = tc.found
			err := (&Deletion{Client: c, Live: c}).addLeftovers(t.Context(), inst, wanted)
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
	data, err := encodeLeftovers(map[string]leftover{"a": {Item: "small"}, "b": large})
	require.NoError(t, err)
	assert.Contains(t, data["a"], "item: small")
	assert.Contains(t, data["b"], "16384 resources did not fit")
	assert.Less(t, len(data["b"]), 1<<10)
}

func TestTheEventOfADeletionByForceIsShort(t *testing.T) {
	found := &Remains{leftovers: map[string]leftover{}}
	for _, letter := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		found.leftovers[letter] = leftover{Installation: "root/child", Item: strings.Repeat(letter, 40), Type: "example.com/none", Target: "cluster"}
	}
	for _, text := range []string{found.summary("record"), found.lastWords()} {
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
	found := &Remains{leftovers: map[string]leftover{
		"nothing recorded": {Installation: "root", Item: "z", Type: "example.com/none"},
		"many":             {Installation: "root/child", Item: "a", Type: "manifest", Target: "cluster", Resources: resources},
		"a release":        {Installation: "root", Item: "b", Type: "helm", Target: "cluster", Release: "n/r"},
	}}
	assert.Contains(t, found.lastWords(), "root/b (helm on cluster) with release n/r, "+
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
			found := Of(nodes[0])
			require.NoError(t, (&Deletion{Live: cluster.With(t, objects...)}).surveyTree(t.Context(), nodes[0], found))
			assert.Len(t, found.installations, len(nodes)-1)
		})
	}
}

// TestADeletionByForceKeepsLittleOfWhatItFinds surveys 70 DeployItems of 200 KiB, half of which are resources.
func TestADeletionByForceKeepsLittleOfWhatItFinds(t *testing.T) {
	below := func(name string, owner client.Object, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: name, UID: types.UID("uid-" + name), Finalizers: []string{v1alpha1.Finalizer},
			Annotations:     map[string]string{"large": strings.Repeat("x", 10<<10)},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))},
		}
	}
	top := fixture.Node("top", "")
	execution := &v1alpha1.Execution{ObjectMeta: below("top", top, "Installation")}
	objects := []client.Object{top, execution}
	for i := range 70 {
		item := &v1alpha1.DeployItem{ObjectMeta: below(fmt.Sprintf("item-%d", i), execution, "Execution")}
		item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"text":"` + strings.Repeat("x", 100<<10) + `"}`)}
		item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"managedResources":[{"name":"` + strings.Repeat("x", 100<<10) + `"}]}`)}
		objects = append(objects, item)
	}
	c, found := cluster.With(t, objects...), Of(top)
	deletion := &Deletion{Client: c, Live: c, Installations: &kit.Consistency{}, Executions: &kit.Consistency{}}
	require.NoError(t, deletion.surveyTree(t.Context(), top, found))
	require.Len(t, found.items, 70)
	require.Len(t, found.leftovers, 70)
	kept, err := json.Marshal([]any{found.items, found.executions, slices.Collect(maps.Values(found.leftovers))})
	require.NoError(t, err)
	assert.Less(t, len(kept), 1<<20)
	require.True(t, apierrors.IsConflict(deletion.Dismantle(t.Context(), found)), "the deletion has changed the Execution")
	items := &v1alpha1.DeployItemList{}
	require.NoError(t, c.List(t.Context(), items))
	assert.Empty(t, items.Items)
	again := Of(top)
	require.NoError(t, deletion.surveyTree(t.Context(), top, again))
	require.NoError(t, deletion.Dismantle(t.Context(), again))
	require.True(t, apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(execution), execution)))
}
