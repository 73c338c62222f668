// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
