// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
)

// TestCommittedLandscapeRunsOncePerChange is the first story: commit Installations, see them deployed, change one, see one more
// run, and nothing at all afterwards.
func TestCommittedLandscapeRunsOncePerChange(t *testing.T) {
	t.Parallel()
	landscape := func(valueOfTwo string) []leaf {
		return []leaf{
			{name: "one", value: "1", annotations: follows()},
			{name: "two", value: valueOfTwo, annotations: follows()},
			{name: "three", value: "3", annotations: follows()},
		}
	}
	s := newSynced(t, landscape("first")...)
	s.awaitReadyOnce("one", "two", "three")
	s.requireValue("one", "1")
	s.requireValue("two", "first")
	s.requireValue("three", "3")

	s.awaitSynced(s.commit(landscape("second")...))
	s.requireValue("two", "second")
	s.RequireJobs(2, "two")
	s.RequireJobs(1, "one", "three")
	s.AwaitEvents(2, meta.ReconciliationSucceededReason, "two")

	quiet := time.Now()
	s.awaitSyncs(3)
	s.RequireNoWrites(quiet)
	s.RequireJobs(2, "two")
	s.RequireJobs(1, "one", "three")
	s.AwaitEvents(2, meta.ReconciliationSucceededReason, "two")
	s.AwaitEvents(1, meta.ReconciliationSucceededReason, "one")
}

// awaitReadyOnce waits until the Kustomization is Ready and checks that each Installation has run once for that.
func (s *synced) awaitReadyOnce(names ...string) {
	s.T.Helper()
	require.NoError(s.T, s.AwaitReady(s.Ctx, s.kustomization()))
	s.RequireJobs(1, names...)
	s.AwaitEvents(1, meta.ReconciliationSucceededReason, names...)
}
