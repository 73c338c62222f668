// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestOnlyAnotherSpecOfADeployItemWakesWhatItNames(t *testing.T) {
	version := func(uid types.UID, generation int64, version string) *v1alpha1.DeployItem {
		return &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{UID: uid, Generation: generation, ResourceVersion: version}}
	}
	for name, tc := range map[string]struct {
		old, new *v1alpha1.DeployItem
		want     bool
	}{
		"status":            {version("a", 1, "1"), version("a", 1, "2"), false},
		"spec":              {version("a", 1, "1"), version("a", 2, "2"), true},
		"another item":      {version("a", 1, "1"), version("b", 1, "2"), true},
		"nothing, a relist": {version("a", 1, "1"), version("a", 1, "1"), true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, specChanged.Update(event.UpdateEvent{ObjectOld: tc.old, ObjectNew: tc.new}))
		})
	}
	assert.True(t, specChanged.Create(event.CreateEvent{Object: version("a", 1, "1")}))
	assert.True(t, specChanged.Delete(event.DeleteEvent{Object: version("a", 1, "1")}))
}

func TestNewHoldersReleaseNothing(t *testing.T) {
	assert.False(t, notNew.Create(event.CreateEvent{Object: target("t", "s")}))
	assert.True(t, notNew.Update(event.UpdateEvent{ObjectOld: target("t", "s"), ObjectNew: target("t", "other")}))
	assert.True(t, notNew.Delete(event.DeleteEvent{Object: target("t", "s")}))
}

func TestTargetsWithoutChecksAreNotVisited(t *testing.T) {
	plain, checked, shows := &v1alpha1.Target{}, &v1alpha1.Target{}, &v1alpha1.Target{}
	checked.Spec.HealthCheck = &v1alpha1.TargetHealthCheck{}
	shows.Status.Identity = "me"
	next := func(target *v1alpha1.Target) *v1alpha1.Target {
		changed := target.DeepCopy()
		changed.Generation++
		return changed
	}
	assert.False(t, checkChanged.Create(event.CreateEvent{Object: plain}))
	assert.True(t, checkChanged.Create(event.CreateEvent{Object: checked}))
	assert.True(t, checkChanged.Create(event.CreateEvent{Object: shows}), "the check ended while no process ran")
	assert.False(t, checkChanged.Update(event.UpdateEvent{ObjectOld: plain, ObjectNew: next(plain)}))
	assert.True(t, checkChanged.Update(event.UpdateEvent{ObjectOld: checked, ObjectNew: next(plain)}), "the check ends")
	assert.True(t, checkChanged.Update(event.UpdateEvent{ObjectOld: plain, ObjectNew: next(checked)}), "the check begins")
	assert.False(t, checkChanged.Update(event.UpdateEvent{ObjectOld: checked, ObjectNew: shows}), "only the status changes")
	assert.False(t, checkChanged.Delete(event.DeleteEvent{Object: plain}))
	assert.True(t, checkChanged.Delete(event.DeleteEvent{Object: checked}))
}
