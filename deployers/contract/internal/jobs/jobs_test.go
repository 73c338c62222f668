// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestLateEventsDoNotInterruptANewJob(t *testing.T) {
	running := &Job{uid: "u", ID: "new", version: 10}
	item := &v1alpha1.DeployItem{}
	item.UID, item.Status.JobID, item.Status.JobIDFinished = "u", "old", "old"
	item.ResourceVersion = "9"
	assert.False(t, running.IsOverIn(item), "older than the job")
	item.ResourceVersion = "11"
	assert.True(t, running.IsOverIn(item), "newer than the job")
}
