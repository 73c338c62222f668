// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
)

func TestT04OperatorsMaximumOfTimeouts(t *testing.T) {
	none, hour := &v1alpha1.Duration{}, &v1alpha1.Duration{Duration: time.Hour}
	began := time.Now()
	for name, c := range map[string]struct {
		timeout *v1alpha1.Duration
		max     time.Duration
		want    time.Duration
	}{
		"none":                {none, 0, 0},
		"none with maximum":   {none, time.Minute, time.Minute},
		"longer":              {hour, time.Minute, time.Minute},
		"shorter":             {hour, 2 * time.Hour, time.Hour},
		"default":             {nil, time.Hour, v1alpha1.DefaultDeployItemTimeout},
		"default is too long": {nil, time.Minute, time.Minute},
	} {
		s := &scope{item: &v1alpha1.DeployItem{}, job: &jobs.Job{Began: began}, maxTimeout: c.max}
		s.item.Spec.Timeout = c.timeout
		want := time.Time{}
		if c.want > 0 {
			want = began.Add(c.want)
		}
		assert.Equal(t, want, s.deadline(), name)
	}
}

func TestAJobWarnsOnceOfWhatItIsAboutToDo(t *testing.T) {
	d := newDesk(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		item.Warn("DeletesAll", "the job deletes all")
		item.Warn("DeletesAll", "the job deletes all")
		require.Len(t, item.Memory, 1, "and not again in another call")
		return Outcome{Done: true}, nil
	}})
	d.trigger("1")
	d.pass()
	require.Len(t, d.events.Events, 1)
	require.Contains(t, <-d.events.Events, "Warning DeletesAll the job deletes all")
}
