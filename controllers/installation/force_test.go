// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// deployedBy makes the DeployItem of an Execution, as its controller does, with what a deployer recorded.
func (s *stage) deployedBy(execution *v1alpha1.Execution) *v1alpha1.DeployItem {
	s.t.Helper()
	item := &v1alpha1.DeployItem{
		ObjectMeta: s.named(execution.Name + "-item"),
		Spec:       v1alpha1.DeployItemSpec{Type: "example.com/none", Target: &v1alpha1.DeployItemTarget{Name: "cluster", Namespace: s.namespace}},
	}
	item.Finalizers = []string{v1alpha1.Finalizer}
	item.Labels = map[string]string{v1alpha1.ExecutionManagedByLabel: execution.Name, v1alpha1.ExecutionManagedNameLabel: "item"}
	item.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(execution, v1alpha1.GroupVersion.WithKind("Execution"))}
	s.create(item)
	editStatus(s, item, func(item *v1alpha1.DeployItem) {
		item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"release":{"namespace":"apps","name":"shop"},` +
			`"managedResources":[{"kind":"Service","name":"a"},{"resource":{"kind":"ConfigMap","name":"b"}}]}`)}
	})
	return item
}

func TestADeletionByForceTakesTheTreeApartAndSaysWhatStays(t *testing.T) {
	s := newStage(t)
	root := following(s.parentOf("root", "a"))
	s.create(root)
	child := s.child("root")
	execution := s.execution(child.Name, "")
	item := s.deployedBy(execution)
	require.NoError(t, s.client.Delete(s.ctx, root))
	s.annotate("root", v1alpha1.ForceDeleteAnnotation, "true")
	for _, object := range []client.Object{root, child, execution, item} {
		require.Eventually(t, func() bool {
			return apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKeyFromObject(object), object))
		}, patience, tick, "%T", object)
	}
	records := &corev1.ConfigMapList{}
	require.NoError(t, s.client.List(s.ctx, records, client.InNamespace(s.namespace), client.MatchingLabels{v1alpha1.LeftBehindLabel: "root"}))
	require.Len(t, records.Items, 1)
	require.Contains(t, records.Items[0].Data, item.Name)
	for _, told := range []string{"installation: root/child", "release: apps/shop", "target: cluster", "name: a", "name: b"} {
		assert.Contains(t, records.Items[0].Data[item.Name], told)
	}
	s.quiet()
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
			inst := working("root", "u-1", "job")
			record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Namespace: "n", Name: leftoversName(inst), Annotations: map[string]string{v1alpha1.LeftBehindLabel: tc.uid},
			}, Data: tc.present}
			r := with(t, record)
			wanted := record.DeepCopy()
			wanted.Data = tc.found
			err := r.addLeftovers(t.Context(), &scope{inst: inst}, wanted)
			assert.Equal(t, tc.fails, err != nil)
			require.NoError(t, r.Get(t.Context(), client.ObjectKeyFromObject(record), record))
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
	found := &remains{leftovers: map[string]leftover{}}
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
	found := &remains{leftovers: map[string]leftover{
		"nothing recorded": {Installation: "root", Item: "z", Type: "example.com/none"},
		"many":             {Installation: "root/child", Item: "a", Type: "manifest", Target: "cluster", Resources: resources},
		"a release":        {Installation: "root", Item: "b", Type: "helm", Target: "cluster", Release: "n/r"},
	}}
	assert.Contains(t, found.lastWords(), "root/b (helm on cluster) with release n/r, "+
		"root/child/a (manifest on cluster) with Namespace cluster-wide, ConfigMap n/a, ConfigMap n/b, ConfigMap n/c, ConfigMap n/d, 1 more, "+
		"root/z (example.com/none)")
}
