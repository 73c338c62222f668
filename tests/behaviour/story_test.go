// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
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
	s.requireJobs(2, "two")
	s.requireJobs(1, "one", "three")
	s.awaitEvents(2, "two", meta.ReconciliationSucceededReason)

	quiet := time.Now()
	s.awaitSyncs(10)
	s.requireNoWrites(quiet)
	s.requireJobs(2, "two")
	s.requireJobs(1, "one", "three")
	s.awaitEvents(2, "two", meta.ReconciliationSucceededReason)
	s.awaitEvents(1, "one", meta.ReconciliationSucceededReason)
}

// awaitReadyOnce waits until the Kustomization is Ready and checks that each Installation has run once for that.
func (s *synced) awaitReadyOnce(names ...string) {
	s.t.Helper()
	kustomization := s.kustomization()
	if err := s.AwaitReady(s.ctx, kustomization); err != nil {
		s.t.Fatal(err)
	}
	s.requireJobs(1, names...)
	for _, name := range names {
		s.awaitEvents(1, name, meta.ReconciliationSucceededReason)
	}
}
