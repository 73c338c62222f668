// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestAJobOfAnotherTypeEnds(t *testing.T) {
	type change = func(*v1alpha1.DeployItem)
	by := func(kind string) change {
		return func(item *v1alpha1.DeployItem) { item.Status.Deployer = &v1alpha1.DeployerInformation{Type: kind} }
	}
	ignored := func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
	}
	for name, tc := range map[string]struct {
		item []change
		// ends is the phase in which the job ends; empty where it goes on, or there is none.
		ends v1alpha1.Phase
	}{
		"while its deployer works":           {item: []change{pickedUp, by("example.com/former")}, ends: v1alpha1.PhaseFailed},
		"while its deployer uninstalls":      {item: []change{pickedUp, inDeletion, by("example.com/former")}, ends: v1alpha1.PhaseDeleteFailed},
		"before anybody begins it":           {item: []change{by("example.com/former")}, ends: v1alpha1.PhaseFailed},
		"an item without a job stays":        {item: []change{idle, by("example.com/former")}},
		"an item that is ignored stays":      {item: []change{pickedUp, ignored, by("example.com/former")}},
		"the type is the same":               {item: []change{pickedUp, by("example.com/none")}},
		"a deployer that does not say it":    {item: []change{pickedUp, by("")}},
		"nobody has begun a job of the item": {},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.item...)
			b.at(time.Second)
			for range 3 {
				b.pass(t)
			}
			item := b.shown(t)
			if tc.ends == "" {
				assert.Equal(t, b.item.Status.JobIDFinished, item.Status.JobIDFinished)
				assert.Zero(t, b.writes)
				return
			}
			assert.Equal(t, tc.ends, item.Status.Phase)
			assert.Equal(t, "job", item.Status.JobIDFinished)
			assert.Equal(t, item.Generation, item.Status.ObservedGeneration)
			assert.Equal(t, b.item.Status.Deployer, item.Status.Deployer)
			require.NotNil(t, item.Status.LastError)
			assert.Equal(t, "TypeChanged", item.Status.LastError.Reason)
			assert.Contains(t, item.Status.LastError.Message, "spec.type was example.com/former before")
			assert.Equal(t, 1, b.writes)
			assert.Len(t, b.events.Events, 1)
		})
	}
}
