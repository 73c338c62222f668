// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestTheControllerIsWoken(t *testing.T) {
	item := func(kind string, isController bool) *v1alpha1.DeployItem {
		return &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "item", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: "owner", UID: "u", Controller: &isController},
		}}}
	}
	for name, tc := range map[string]struct {
		old, new *v1alpha1.DeployItem
		want     int
	}{
		"its own":               {item("Execution", true), item("Execution", true), 1},
		"taken over":            {item("Installation", true), item("Execution", true), 1},
		"left":                  {item("Execution", true), &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}, 1},
		"another kind":          {item("Installation", true), item("Installation", true), 0},
		"owned, not controlled": {item("Execution", false), item("Execution", false), 0},
		"nobody's":              {&v1alpha1.DeployItem{}, &v1alpha1.DeployItem{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
			t.Cleanup(queue.ShutDown)
			WakeController("Execution").Update(t.Context(), event.UpdateEvent{ObjectOld: tc.old, ObjectNew: tc.new}, queue)
			assert.Equal(t, tc.want, queue.Len())
			if tc.want > 0 {
				woken, _ := queue.Get()
				assert.Equal(t, "ns/owner", woken.String())
			}
		})
	}
}

func TestIsOrphaning(t *testing.T) {
	now := metav1.Now()
	leaving := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: []string{v1alpha1.Finalizer, metav1.FinalizerOrphanDependents}}}
	assert.True(t, IsOrphaning(leaving))
	leaving.Finalizers = leaving.Finalizers[:1]
	assert.False(t, IsOrphaning(leaving), "the garbage collector is done")
}

func TestIsHeldBack(t *testing.T) {
	type pair struct {
		child  *v1alpha1.Execution
		parent *v1alpha1.Installation
	}
	for name, tc := range map[string]struct {
		change func(*pair)
		held   bool
	}{
		"no leave yet":                           {func(*pair) {}, true},
		"leave":                                  {func(p *pair) { p.child.Annotations[v1alpha1.JobAnnotation] = "delete" }, false},
		"leave of a former deletion job":         {func(p *pair) { p.child.Annotations[v1alpha1.JobAnnotation] = "former" }, true},
		"its Installation has not begun to go":   {func(p *pair) { p.parent.Status.Phase, p.parent.Status.JobID = v1alpha1.PhaseSucceeded, "apply" }, true},
		"deleted in the background":              {func(p *pair) { p.child.Finalizers = []string{v1alpha1.Finalizer} }, false},
		"its Installation is not in deletion":    {func(p *pair) { p.parent.DeletionTimestamp = nil }, false},
		"its Installation is ready but for this": {func(p *pair) { p.parent.Finalizers = []string{metav1.FinalizerDeleteDependents} }, false},
		"no Installation":                        {func(p *pair) { p.parent = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			now, finalizers := metav1.Now(), []string{v1alpha1.Finalizer, metav1.FinalizerDeleteDependents}
			p := &pair{
				child: &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{
					DeletionTimestamp: &now, Finalizers: finalizers, Annotations: map[string]string{v1alpha1.JobAnnotation: "apply"},
				}},
				parent: &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, Finalizers: finalizers}},
			}
			p.parent.Status.Phase, p.parent.Status.JobID = v1alpha1.PhaseDeleting, "delete"
			tc.change(p)
			assert.Equal(t, tc.held, IsHeldBack(p.child, p.parent))
		})
	}
}

func TestSetInherited(t *testing.T) {
	const name = v1alpha1.CacheHelmChartsAnnotation
	for title, c := range map[string]struct{ parent, child, want map[string]string }{
		"to one without annotations": {map[string]string{name: "true", "other": "1"}, nil, map[string]string{name: "true"}},
		"with a new value":           {map[string]string{name: "true"}, map[string]string{name: "false", "own": "1"}, map[string]string{name: "true", "own": "1"}},
		"not any more":               {nil, map[string]string{name: "true", "own": "1"}, map[string]string{"own": "1"}},
	} {
		t.Run(title, func(t *testing.T) {
			parent, child := &v1alpha1.Installation{}, &v1alpha1.Execution{}
			parent.Annotations, child.Annotations = c.parent, c.child
			SetInherited(parent, child)
			assert.Equal(t, c.want, child.Annotations)
		})
	}
}

// inShard is an object with a label of a shard, without it when empty.
func inShard(key string) metav1.Object {
	object := &metav1.ObjectMeta{}
	if key != "" {
		object.Labels = map[string]string{ShardLabel: key}
	}
	return object
}

func TestE09AShardBringsItsOwnObjectsOn(t *testing.T) {
	for selector, has := range map[string]map[string]bool{
		"":                         {"": true, "a": true, "b": true},
		"sharding.fluxcd.io/key=a": {"": false, "a": true, "b": false},
		"!sharding.fluxcd.io/key":  {"": true, "a": false, "b": false},
	} {
		parsed, err := labels.Parse(selector)
		require.NoError(t, err)
		for key, want := range has {
			assert.Equal(t, want, Shard{Selector: parsed}.Has(inShard(key)), "%q has %q", selector, key)
		}
	}
	assert.True(t, Shard{}.Has(inShard("a")), "without selector all")
}

func TestE09ChildrenFollowTheirParentToItsShard(t *testing.T) {
	for name, tc := range map[string]struct {
		parent, child string
		change        bool
		want          string
	}{
		"none":          {},
		"the same":      {parent: "a", child: "a"},
		"into a shard":  {parent: "a", change: true, want: "a"},
		"to another":    {parent: "b", child: "a", change: true, want: "b"},
		"out of shards": {child: "a", change: true},
	} {
		t.Run(name, func(t *testing.T) {
			change := FollowShard(inShard(tc.parent), inShard(tc.child))
			require.Equal(t, tc.change, !change.Empty())
			if value := change.Labels[ShardLabel]; value != nil {
				assert.Equal(t, tc.want, *value)
			} else {
				assert.Empty(t, tc.want)
			}
		})
	}
}
