// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestClockFollowsJobs(t *testing.T) {
	type sight struct{ requested, finished string }
	tests := map[string]struct {
		sights []sight // one per second
		took   time.Duration
		runs   int
	}{
		"no job yet":                 {[]sight{{}, {}}, 5 * time.Second, 0},
		"a job that runs":            {[]sight{{"a", ""}, {"a", ""}}, 5 * time.Second, 0},
		"a job that has ended":       {[]sight{{"a", ""}, {"a", ""}, {"a", "a"}}, 2 * time.Second, 1},
		"waiting counts":             {[]sight{{}, {"a", ""}, {"a", "a"}}, 2 * time.Second, 1},
		"an end seen often is one":   {[]sight{{"a", ""}, {"a", "a"}, {"a", "a"}, {"a", "a"}}, time.Second, 1},
		"a second job":               {[]sight{{"a", ""}, {"a", "a"}, {"b", "a"}, {"b", "b"}}, time.Second, 2},
		"a second job that runs":     {[]sight{{"a", ""}, {"a", "a"}, {"b", "a"}}, 3 * time.Second, 1},
		"a job seen only at its end": {[]sight{{"a", "a"}}, 0, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := &clock{}
			for i, seen := range test.sights {
				job := &v1alpha1.JobStatus{JobID: seen.requested, JobIDFinished: seen.finished}
				c.followJob(job, noon.Add(time.Duration(i)*time.Second))
			}

			assert.Equal(t, test.took, c.took(noon.Add(5*time.Second)))
			assert.Equal(t, test.runs, c.runs)
		})
	}
}

func TestClockFollowsRevisions(t *testing.T) {
	c := &clock{}
	c.followRevision("", "", noon)
	c.followRevision("main@1", "", noon.Add(time.Second))
	c.followRevision("main@1", "main@1", noon.Add(3*time.Second))
	c.followRevision("main@1", "main@1", noon.Add(4*time.Second))

	assert.Equal(t, 2*time.Second, c.took(noon.Add(9*time.Second)))
	assert.Equal(t, 1, c.runs)
}
