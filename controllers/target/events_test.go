// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

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
