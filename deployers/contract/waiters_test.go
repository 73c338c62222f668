// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestWhoHoldsAnItemBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(execution *v1alpha1.Execution, child, root *v1alpha1.Installation)
		want   *obstacle
	}{
		"nobody":                      {change: func(*v1alpha1.Execution, *v1alpha1.Installation, *v1alpha1.Installation) {}},
		"an Execution at work":        {func(e *v1alpha1.Execution, _, _ *v1alpha1.Installation) { e.Status.JobID = "1" }, &obstacle{"Execution", "execution"}},
		"an Execution made anew":      {func(e *v1alpha1.Execution, _, _ *v1alpha1.Installation) { e.UID = "other" }, &obstacle{}},
		"a suspended Installation":    {func(_ *v1alpha1.Execution, child, _ *v1alpha1.Installation) { child.Spec.Suspend = true }, &obstacle{"Installation", "child"}},
		"a suspended root":            {func(_ *v1alpha1.Execution, _, root *v1alpha1.Installation) { root.Spec.Suspend = true }, &obstacle{"Installation", "root"}},
		"a root that is gone":         {func(_ *v1alpha1.Execution, _, root *v1alpha1.Installation) { root.Name = "another" }, &obstacle{}},
		"owners that own one another": {change: func(_ *v1alpha1.Execution, child, root *v1alpha1.Installation) { owned(root, "Installation", child) }},
		"a root on its way out": {func(_ *v1alpha1.Execution, _, root *v1alpha1.Installation) {
			root.DeletionTimestamp, root.Finalizers = &metav1.Time{Time: time.Now()}, []string{v1alpha1.Finalizer}
		}, &obstacle{}},
	} {
		t.Run(name, func(t *testing.T) {
			item, execution := &v1alpha1.DeployItem{}, &v1alpha1.Execution{}
			child, root := &v1alpha1.Installation{}, &v1alpha1.Installation{}
			for name, object := range map[string]client.Object{"item": item, "execution": execution, "child": child, "root": root} {
				object.SetNamespace("ns")
				object.SetName(name)
				object.SetUID(types.UID(name))
			}
			owned(item, "Execution", execution)
			owned(execution, "Installation", child)
			owned(child, "Installation", root)
			tc.change(execution, child, root)
			scheme := runtime.NewScheme()
			require.NoError(t, v1alpha1.AddToScheme(scheme))
			live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(execution, child, root).Build()
			found, err := (&reconciler{live: live}).findObstacle(t.Context(), item)
			require.NoError(t, err)
			assert.Equal(t, tc.want, found)
		})
	}
}

func owned(object client.Object, kind string, by client.Object) {
	object.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: by.GetName(), UID: by.GetUID(), Controller: new(true),
	}})
}

func TestAnUnreadableOwnerIsAnError(t *testing.T) {
	item, execution := &v1alpha1.DeployItem{}, &v1alpha1.Execution{}
	execution.Name = "root"
	owned(item, "Execution", execution)
	_, err := (&reconciler{live: denied{}}).findObstacle(t.Context(), item)
	assert.EqualError(t, err, "read the owner Execution root of the item: denied")
}

// denied reads nothing.
type denied struct{ client.Reader }

func (denied) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("denied")
}

func TestAnItemWaitsForOneThingAtATime(t *testing.T) {
	shared := &watches{}
	waiting := &waiters{watches: shared, queue: func(types.NamespacedName) {}}
	item := &v1alpha1.DeployItem{}
	item.Namespace, item.Name = "ns", "item"
	key := client.ObjectKeyFromObject(item)
	cluster := &target.Cluster{Config: &rest.Config{}, Mapper: meta.NewDefaultRESTMapper(nil)}
	object := func(kind, name string) []Watched {
		return []Watched{{Cluster: cluster, APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: "ns", Name: name}}
	}
	waitsFor := func(objects []Watched) bool {
		known := waiting.at(key)
		return known != nil && shared.Follows(known, objects[0].key())
	}
	first, second := object("Execution", "a"), object("Installation", "b")
	waiting.await(item, first, time.Now())
	assert.True(t, waitsFor(first))
	waiting.await(item, second, time.Now())
	assert.False(t, waitsFor(first))
	assert.True(t, waitsFor(second))
	waiting.await(item, object("Installation", ""), time.Now())
	assert.Empty(t, waiting.at(key).watched, "all objects of a kind are no single thing")
	waiting.await(item, second, time.Now())
	waiting.end(key)
	assert.Empty(t, waiting.of)
}
