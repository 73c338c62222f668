// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestE06EachInstallationHasItsOwnGrace(t *testing.T) {
	begin := time.Unix(1000, 0)
	later := begin.Add(ImportGrace)
	for name, tc := range map[string]struct {
		inst      *v1alpha1.Installation
		operation string
		over      bool
	}{
		"the one that began":           {fixture.Working("a", "1", "job"), jobs.ImportOperation, true},
		"a sibling in the same job":    {fixture.Working("b", "2", "job"), jobs.ImportOperation, false},
		"its successor of that name":   {fixture.Working("a", "3", "job"), jobs.ImportOperation, false},
		"another job":                  {fixture.Working("a", "1", "next"), jobs.ImportOperation, false},
		"something else that it lacks": {fixture.Working("a", "1", "job"), jobs.ContextOperation, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := &graces{}
			require.False(t, g.over(fixture.Working("a", "1", "job"), jobs.ImportOperation, begin))
			assert.Equal(t, tc.over, g.over(tc.inst, tc.operation, later))
		})
	}
}

// TestWhatOnlyTheCacheMissesIsWaitedFor has an import that the cache does not show when the moment of grace is over.
func TestWhatOnlyTheCacheMissesIsWaitedFor(t *testing.T) {
	inst := fixture.Importing()
	for name, tc := range map[string]struct {
		server []client.Object
		kind   kit.FailureKind
	}{
		"the API server has it":   {[]client.Object{fixture.DataObject("1")}, kit.Waiting},
		"the API server lacks it": {nil, kit.Stalled},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(t)
			r.Live = cluster.With(t, tc.server...)
			s := &Reading{inst: inst, now: time.Unix(1000, 0)}
			_, missing := r.collector().Collect(t.Context(), inst)
			require.Equal(t, kit.Waiting, kit.AsFailure(jobs.ImportOperation, r.importFailure(t.Context(), s, missing)).Kind)
			s.now = s.now.Add(ImportGrace)
			failure := kit.AsFailure(jobs.ImportOperation, r.importFailure(t.Context(), s, missing))
			assert.Equal(t, tc.kind, failure.Kind)
			assert.Equal(t, jobs.ReasonImportNotFound, failure.Reason)
		})
	}
}

func TestE17GracesEndWithTheJob(t *testing.T) {
	r := &Reader{}
	s := &Reading{inst: fixture.Working("a", "1", "job"), now: time.Unix(1000, 0)}
	require.Error(t, r.contextFailure(s, incomplete(t)))
	_, missing := with(t).collector().Collect(t.Context(), fixture.Importing())
	require.Error(t, r.importFailure(t.Context(), s, missing))
	require.Len(t, r.graces.since, 2)
	r.Forget(client.ObjectKeyFromObject(s.inst))
	assert.Empty(t, r.graces.since)
}
