// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// TestWhatOnlyTheCacheMissesIsWaitedFor has an import that the cache does not show when the moment of grace is over.
func TestWhatOnlyTheCacheMissesIsWaitedFor(t *testing.T) {
	inst := fixture.Importing()
	for name, tc := range map[string]struct {
		server []client.Object
		kind   protocol.FailureKind
	}{
		"the API server has it":   {[]client.Object{fixture.DataObject("1")}, protocol.Waiting},
		"the API server lacks it": {nil, protocol.Stalled},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(t)
			r.Live = fixture.Cluster(t, relations.Index, tc.server...)
			s := &Reading{inst: inst}
			_, missing := r.collect(t.Context(), inst)
			require.Equal(t, protocol.Waiting, protocol.AsFailure(jobs.ImportOperation, r.importFailure(t.Context(), s, missing)).Kind)
			s.waited = ImportGrace
			failure := protocol.AsFailure(jobs.ImportOperation, r.importFailure(t.Context(), s, missing))
			assert.Equal(t, tc.kind, failure.Kind)
			assert.Equal(t, jobs.ReasonImportNotFound, failure.Reason)
		})
	}
}
