// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// strip removes the finalizers of an item by hand.
func (s *stage) strip(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, s.client().Get(s.t.Context(), keyOfItem(item), item))
	item.Finalizers = nil
	require.NoError(s.t, s.client().Update(s.t.Context(), item))
}

func TestAStrippedFinalizerComesBack(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	since := time.Now()
	s.strip(item)

	s.underWay(item, func() bool { return len(item.Finalizers) == 1 })

	assert.Equal(t, []string{v1alpha1.Finalizer}, item.Finalizers)
	assert.Equal(t, []string{"patch deployitems"}, s.requests(since))
}

func TestAStrippedFinalizerIsPutBackMoreAndMoreRarely(t *testing.T) {
	d := newDesk(t, &scripted{})
	d.trigger("1")
	d.pass()
	require.Equal(t, v1alpha1.PhaseSucceeded, d.item().Status.Phase)
	d.requireSteady()
	strip := func() {
		item := d.item()
		item.Finalizers = nil
		require.NoError(t, d.api.Update(t.Context(), item))
		require.True(t, d.r.seen(d.item()))
	}
	strip()
	d.writes = nil
	d.pass()
	require.Equal(t, []string{"patch"}, d.writes)
	assert.Contains(t, d.item().Finalizers, v1alpha1.Finalizer)
	d.requireSteady()

	strip()
	d.writes = nil
	result := d.pass()

	assert.Empty(t, d.writes)
	assert.Positive(t, result.RequeueAfter)
}

func TestWhoseFinalizerIsPutBack(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(item *v1alpha1.DeployItem)
		want   bool
	}{
		"of an idle item":             {change: func(*v1alpha1.DeployItem) {}, want: true},
		"of none that has it":         {change: func(item *v1alpha1.DeployItem) { item.Finalizers = []string{v1alpha1.Finalizer} }},
		"of none that never had one":  {change: func(item *v1alpha1.DeployItem) { item.Status.Deployer = nil }},
		"of none of another deployer": {change: func(item *v1alpha1.DeployItem) { item.Status.Deployer.Name = "other" }},
		"of none in deletion":         {change: func(item *v1alpha1.DeployItem) { item.DeletionTimestamp = &metav1.Time{Time: time.Now()} }},
		"of none that is to leave what it has deployed": {change: func(item *v1alpha1.DeployItem) {
			item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
		}},
		"of none that is ignored": {change: func(item *v1alpha1.DeployItem) {
			item.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			deployer := &scripted{itemType: "example.com/whose"}
			r := newReconciler(nil, nil, deployer, Options{})
			item := &v1alpha1.DeployItem{Spec: v1alpha1.DeployItemSpec{Type: deployer.itemType}}
			item.Status.JobID, item.Status.JobIDFinished = "1", "1"
			item.Status.Deployer = &v1alpha1.DeployerInformation{Name: deployer.Name()}
			tc.change(item)

			assert.Equal(t, tc.want, r.concerns(item))
		})
	}
}
