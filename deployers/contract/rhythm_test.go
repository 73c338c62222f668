// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func every(interval time.Duration) *managedresource.ContinuousReconcileSpec {
	return &managedresource.ContinuousReconcileSpec{Every: &v1alpha1.Duration{Duration: interval}}
}

func TestDue(t *testing.T) {
	began := time.Date(2026, time.November, 22, 12, 0, 30, 0, time.UTC)
	for name, c := range map[string]struct {
		spec     *managedresource.ContinuousReconcileSpec
		finished time.Duration
		want     time.Duration
		never    bool
	}{
		"interval counts from the begin":          {spec: every(time.Hour), finished: 10 * time.Minute, want: time.Hour + time.Second},
		"schedule counts from the begin":          {spec: &managedresource.ContinuousReconcileSpec{Cron: "*/5 * * * *"}, finished: time.Minute, want: 4*time.Minute + 30*time.Second},
		"job that took longer than the interval":  {spec: every(time.Minute), finished: time.Hour, want: time.Hour + 11*time.Second},
		"interval shorter than the rest":          {spec: every(time.Millisecond), finished: 0, want: 11 * time.Second},
		"job that took longer than the schedule":  {spec: &managedresource.ContinuousReconcileSpec{Cron: "* * * * *"}, finished: time.Hour, want: time.Hour + 11*time.Second},
		"the longest interval":                    {spec: every(1<<63 - 1), want: 1<<63 - 1},
		"a schedule that cannot be read is never": {spec: &managedresource.ContinuousReconcileSpec{Cron: "CRON_TZ=UTC"}, never: true},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Status.LastReconcileTime = &metav1.Time{Time: began}
			item.Status.TransitionTimes = &v1alpha1.TransitionTimes{FinishedTime: &metav1.Time{Time: began.Add(c.finished)}}
			due, found := (&clock{rest: 10 * time.Second}).due(item, c.spec)
			assert.Equal(t, !c.never, found)
			if found {
				assert.Equal(t, c.want, due.Sub(began))
			}
		})
	}
}

func TestAJobOfAClockThatWasWrongIsAhead(t *testing.T) {
	now := time.Unix(10000, 0)
	for name, tc := range map[string]struct {
		began, finished time.Duration
		want            bool
	}{
		"just now":                   {0, 0, false},
		"the clocks differ a little": {time.Minute, time.Minute, false},
		"all of it":                  {1000 * time.Hour, 1000 * time.Hour, true},
		"its end":                    {0, 1000 * time.Hour, true},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Status.LastReconcileTime = &metav1.Time{Time: now.Add(tc.began)}
			assert.Equal(t, tc.began > time.Hour, clockIsAhead(item, now), "a job that has not ended")
			item.Status.TransitionTimes = &v1alpha1.TransitionTimes{FinishedTime: &metav1.Time{Time: now.Add(tc.finished)}}
			assert.Equal(t, tc.want, clockIsAhead(item, now))
		})
	}
}

func TestDueIsSpreadAndNeverEarly(t *testing.T) {
	began := time.Now()
	dueOf := func(i int) time.Duration {
		item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
		item.Status.LastReconcileTime, item.Status.JobIDFinished = &metav1.Time{Time: began}, fmt.Sprint(i)
		due, found := (&clock{jitter: 5}).due(item, every(time.Hour))
		require.True(t, found)
		return due.Sub(began)
	}
	shortest, longest := dueOf(0), dueOf(0)
	for i := range 1000 {
		shortest, longest = min(shortest, dueOf(i)), max(longest, dueOf(i))
		require.Equal(t, dueOf(i), dueOf(i), "it is the same after a restart")
	}
	assert.GreaterOrEqual(t, shortest, time.Hour)
	assert.Less(t, shortest, time.Hour+10*time.Second, "the range is used up")
	assert.LessOrEqual(t, longest, 63*time.Minute+time.Second)
	assert.Greater(t, longest, 63*time.Minute-10*time.Second, "the range is used up")
}
