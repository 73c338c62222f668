// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestLateEventsDoNotInterruptANewJob(t *testing.T) {
	running := &job{uid: "u", ID: "new", version: 10}
	item := &v1alpha1.DeployItem{}
	item.UID, item.Status.JobID, item.Status.JobIDFinished = "u", "old", "old"
	item.ResourceVersion = "9"
	assert.False(t, running.IsOverIn(item), "older than the job")
	item.ResourceVersion = "11"
	assert.True(t, running.IsOverIn(item), "newer than the job")
}

// running returns an item with a job, which is running.
func running() (*jobs, *v1alpha1.DeployItem, *job) {
	jobs := &jobs{released: func(*job) {}, queue: func(types.NamespacedName) {}}
	item := &v1alpha1.DeployItem{}
	item.Namespace, item.Name, item.UID, item.ResourceVersion, item.Status.JobID = "ns", "item", "uid", "1", "1"
	return jobs, item, jobs.Claim(item, time.Unix(1000, 0), plan{})
}

func TestAJobIsClaimedOnce(t *testing.T) {
	jobs, item, first := running()
	assert.Same(t, first, jobs.Claim(item, time.Now(), plan{}))
	item.Status.JobID = "2"
	second := jobs.Claim(item, time.Now(), plan{})
	assert.NotSame(t, first, second)
	assert.True(t, first.HasEnded())
	assert.Same(t, second, jobs.Of(second.Key))
	jobs.Forget(second.Key)
	assert.Nil(t, jobs.Of(second.Key))
}

func TestAJobIsDueOnceForWhatHasHappened(t *testing.T) {
	_, _, job := running()
	now := time.Now()
	due := func(at time.Time) (isDue, anything bool) {
		news, isDue := job.Due(at)
		return isDue, news.Anything
	}
	for _, step := range []struct {
		name            string
		happens         func()
		isDue, anything bool
	}{
		{"the first call", func() {}, true, true},
		{"nothing", func() {}, false, false},
		{"a change", func() { job.Note() }, true, true},
		{"nothing more", func() {}, false, false},
		{"a time to try again that has not come", func() { job.RetryAt = now.Add(time.Second) }, false, false},
		{"a time to try again that has come", func() { job.RetryAt = now }, true, true},
		{"a call that did not take place", job.Hold, true, true},
	} {
		step.happens()
		isDue, anything := due(now)
		assert.Equal(t, step.isDue, isDue, step.name)
		assert.Equal(t, step.anything, anything, step.name)
	}
}

func TestAWakeUpBringsTheItemToAWorker(t *testing.T) {
	jobs, item, _ := running()
	queued := 0
	jobs.queue = func(types.NamespacedName) { queued++ }
	item.Status.JobID = "2"
	job := jobs.Claim(item, time.Now(), plan{})
	job.Note()
	assert.Zero(t, queued, "whoever notes it is about to look at the item")
	job.Wake()
	assert.Equal(t, 1, queued)
	_, isDue := job.Due(time.Now())
	assert.True(t, isDue)
}

func TestWhoHasEndedAJob(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(item *v1alpha1.DeployItem)
		isLeft bool
		ends   bool
	}{
		"it is to be left alone":   {change: func(item *v1alpha1.DeployItem) { item.ResourceVersion = "2" }, isLeft: true, ends: true},
		"it was left alone before": {change: func(item *v1alpha1.DeployItem) { item.ResourceVersion = "0" }, isLeft: true},
		"it goes on":               {change: func(item *v1alpha1.DeployItem) { item.ResourceVersion = "2" }},
		"somebody else":            {change: func(item *v1alpha1.DeployItem) { item.Status.JobIDFinished = "1" }, ends: true},
		"a newer job":              {change: func(item *v1alpha1.DeployItem) { item.Status.JobID = "2" }, ends: true},
		"the item made anew":       {change: func(item *v1alpha1.DeployItem) { item.UID = "other" }, ends: true},
	} {
		t.Run(name, func(t *testing.T) {
			jobs, item, job := running()
			ctx, cancel := job.Run(t.Context())
			defer cancel(nil)
			tc.change(item)
			jobs.Observe(item, tc.isLeft)
			assert.Equal(t, tc.ends, job.HasEnded())
			if tc.ends {
				require.ErrorIs(t, context.Cause(ctx), errInterrupted)
			}
		})
	}
}

func TestACallOfAJobThatHasEndedDoesNotBegin(t *testing.T) {
	jobs, _, job := running()
	jobs.End(job)
	ctx, cancel := job.Run(t.Context())
	defer cancel(nil)
	assert.ErrorIs(t, context.Cause(ctx), errInterrupted)
}
