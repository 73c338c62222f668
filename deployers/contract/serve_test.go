// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// read counts how often the configuration of an item is read.
type read struct {
	*scripted
	times int
}

func (r *read) ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	r.times++
	return ContinuousReconcileIn(item.Spec.Configuration)
}

// indexes registers indexes with a client in memory.
type indexes struct{ *fake.ClientBuilder }

func (i indexes) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

// repeated is an item that has had its job.
func repeated(name string) *v1alpha1.DeployItem {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 1, Finalizers: []string{v1alpha1.Finalizer}}}
	item.Spec = v1alpha1.DeployItemSpec{
		Type: "example.com/read", Target: &v1alpha1.DeployItemTarget{Name: "target"}, Context: "shop",
		Configuration: &runtime.RawExtension{Raw: []byte(`{"continuousReconcile":{"every":"1h"},"source":"source"}`)},
	}
	item.Status.JobID, item.Status.JobIDFinished, item.Status.ObservedGeneration = "job", "job", 1
	item.Status.LastReconcileTime = &metav1.Time{Time: metav1.Now().Time}
	return item
}

func TestEventsOfWhatManyItemsNameCopyAndReadNone(t *testing.T) {
	for name, tc := range map[string]struct {
		users   func(*reconciler) handler.MapFunc
		changed client.Object
	}{
		"Target":  {func(r *reconciler) handler.MapFunc { return r.usersOf(r.itemsByTarget) }, &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: "target"}}},
		"Context": {func(r *reconciler) handler.MapFunc { return r.usersOf(r.itemsByContext) }, &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}},
		"source":  {func(r *reconciler) handler.MapFunc { return r.followersOf }, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "source"}}},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			require.NoError(t, clientgoscheme.AddToScheme(scheme))
			require.NoError(t, v1alpha1.AddToScheme(scheme))
			deployer, copied, lists := &read{scripted: &scripted{itemType: "example.com/read"}}, 0, 0
			builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(repeated("a"), repeated("b"))
			options := Options{}
			if name == "source" {
				options.Sources = sourceWatch()
			}
			r := newReconciler(nil, nil, deployer, options)
			require.NoError(t, r.index(indexes{builder}))
			r.client = interceptor.NewClient(builder.Build(), interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					asked := (&client.ListOptions{}).ApplyOptions(options)
					if lists++; asked.UnsafeDisableDeepCopy == nil || !*asked.UnsafeDisableDeepCopy {
						copied++
					}
					return c.List(ctx, list, options...)
				},
			})
			tc.changed.SetNamespace("ns")
			requests := tc.users(r)(t.Context(), tc.changed)
			assert.ElementsMatch(t, []ctrl.Request{
				{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "a"}}, {NamespacedName: client.ObjectKey{Namespace: "ns", Name: "b"}},
			}, requests)
			assert.Equal(t, 1, lists)
			assert.Zero(t, copied)
			assert.Zero(t, deployer.times)
		})
	}
}

func TestWhatAnObjectSaysNowIsMappedOnce(t *testing.T) {
	object := func(name string) client.Object { return &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	for name, tc := range map[string]struct {
		happens func(handler.EventHandler, workqueue.TypedRateLimitingInterface[ctrl.Request])
		mapped  []string
	}{
		"new": {func(h handler.EventHandler, q workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			h.Create(t.Context(), event.CreateEvent{Object: object("new")}, q)
		}, []string{"new"}},
		"there at the start": {func(h handler.EventHandler, q workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			h.Create(t.Context(), event.CreateEvent{Object: object("new"), IsInInitialList: true}, q)
		}, nil},
		"changed": {func(h handler.EventHandler, q workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			h.Update(t.Context(), event.UpdateEvent{ObjectOld: object("old"), ObjectNew: object("new")}, q)
		}, []string{"new"}},
		"gone": {func(h handler.EventHandler, q workqueue.TypedRateLimitingInterface[ctrl.Request]) {
			h.Delete(t.Context(), event.DeleteEvent{Object: object("old")}, q)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			t.Cleanup(queue.ShutDown)
			var mapped []string
			tc.happens(ofNew(func(_ context.Context, object client.Object) []ctrl.Request {
				mapped = append(mapped, object.GetName())
				return []ctrl.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
			}), queue)
			assert.Equal(t, tc.mapped, mapped)
			assert.Equal(t, len(tc.mapped), queue.Len())
		})
	}
}

// TestOnlyWhatItemsReadOfAContextWakesThem has one worker, so that another item which is woken later is called later.
func TestOnlyWhatItemsReadOfAContextWakesThem(t *testing.T) {
	var calls, callsOfOther atomic.Int32
	s := newStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		if item.DeployItem.Name == "item" {
			calls.Add(1)
		} else {
			callsOfOther.Add(1)
		}
		return Outcome{Done: item.Context.Configuration.OCMConfig != nil, Waiting: "no configuration"}, nil
	}}, Options{Concurrency: 1})
	fence := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "fence"}}
	require.NoError(t, s.client().Create(t.Context(), fence))
	item := s.inContext(v1alpha1.ContextConfiguration{})
	other := s.create("other", func(item *v1alpha1.DeployItem) { item.Spec.Context = fence.Name })
	s.trigger(other)
	require.Eventually(t, func() bool { return calls.Load() > 0 && callsOfOther.Load() > 0 }, patience, 10*time.Millisecond)
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "ocm"}, Data: map[string]string{".ocmconfig": "type: generic"}}
	require.NoError(t, s.client().Create(t.Context(), config))
	fence.ComponentVersionOverwritesReference = "other"
	require.NoError(t, s.client().Update(t.Context(), fence))
	require.Eventually(t, func() bool { return callsOfOther.Load() > 1 }, patience, 10*time.Millisecond)
	before := calls.Load()

	shop := &v1alpha1.Context{}
	require.NoError(t, s.client().Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: "shop"}, shop))
	shop.Annotations = map[string]string{"by": "somebody"}
	require.NoError(t, s.client().Update(t.Context(), shop))
	fence.OCMConfig = &v1alpha1.LocalObjectReference{Name: "ocm"}
	require.NoError(t, s.client().Update(t.Context(), fence))
	s.finished(other)
	assert.Equal(t, before, calls.Load(), "an annotation says nothing to items")

	shop.OCMConfig = fence.OCMConfig
	require.NoError(t, s.client().Update(t.Context(), shop))
	s.finished(item)
}
