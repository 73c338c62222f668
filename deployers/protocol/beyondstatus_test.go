// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestBeyondStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Target)
		want   bool
	}{
		"status":          {func(o *v1alpha1.Target) { o.Status.Version = "v1" }, false},
		"nothing, resync": {func(o *v1alpha1.Target) { o.ResourceVersion = "1" }, true},
		"generation":      {func(o *v1alpha1.Target) { o.Generation = 2 }, true},
		"labels":          {func(o *v1alpha1.Target) { o.Labels = map[string]string{"a": "b"} }, true},
		"annotations":     {func(o *v1alpha1.Target) { o.Annotations = map[string]string{"a": "b"} }, true},
		"finalizers":      {func(o *v1alpha1.Target) { o.Finalizers = []string{"a/b"} }, true},
		"deletion":        {func(o *v1alpha1.Target) { o.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, true},
		"owner":           {func(o *v1alpha1.Target) { o.OwnerReferences = []metav1.OwnerReference{{Name: "a"}} }, true},
		"made anew":       {func(o *v1alpha1.Target) { o.UID = "other" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			old := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "uid", Generation: 1, ResourceVersion: "1"}}
			updated := old.DeepCopy()
			updated.ResourceVersion = "2"
			tc.change(updated)
			assert.Equal(t, tc.want, protocol.BeyondStatus.Update(event.UpdateEvent{ObjectOld: old, ObjectNew: updated}))
		})
	}
}

func TestBeyondMetadata(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Context)
		want   bool
	}{
		"labels":            {func(o *v1alpha1.Context) { o.Labels = map[string]string{"a": "b"} }, false},
		"annotations":       {func(o *v1alpha1.Context) { o.Annotations = map[string]string{"a": "b"} }, false},
		"finalizers":        {func(o *v1alpha1.Context) { o.Finalizers = []string{"a/b"} }, false},
		"generation":        {func(o *v1alpha1.Context) { o.Generation = 2 }, true},
		"made anew":         {func(o *v1alpha1.Context) { o.UID = "other" }, true},
		"nothing, a relist": {func(o *v1alpha1.Context) { o.ResourceVersion = "1" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			old := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Name: "c", UID: "uid", Generation: 1, ResourceVersion: "1"}}
			updated := old.DeepCopy()
			updated.ResourceVersion = "2"
			tc.change(updated)
			assert.Equal(t, tc.want, protocol.BeyondMetadata.Update(event.UpdateEvent{ObjectOld: old, ObjectNew: updated}))
		})
	}
	assert.True(t, protocol.BeyondMetadata.Create(event.CreateEvent{Object: &v1alpha1.Context{}}))
	assert.True(t, protocol.BeyondMetadata.Delete(event.DeleteEvent{Object: &v1alpha1.Context{}}))
}
