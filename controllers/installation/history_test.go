// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// history is every version of every Installation of a namespace, in the order in which they were written.
type history struct {
	mu       sync.Mutex
	versions map[string][]*v1alpha1.Installation
}

// watch begins a history.
func (s *stage) watch() *history {
	s.t.Helper()
	h := &history{versions: map[string][]*v1alpha1.Installation{}}
	watcher, err := s.client.Watch(s.ctx, &v1alpha1.InstallationList{}, client.InNamespace(s.namespace))
	require.NoError(s.t, err)
	s.t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			if inst, ok := event.Object.(*v1alpha1.Installation); ok {
				h.mu.Lock()
				h.versions[inst.Name] = append(h.versions[inst.Name], inst)
				h.mu.Unlock()
			}
		}
	}()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Log(h.String())
		}
	})
	return h
}

// of returns the versions of an Installation up to and including one.
func (h *history) of(s *stage, last *v1alpha1.Installation) []*v1alpha1.Installation {
	s.t.Helper()
	var versions []*v1alpha1.Installation
	require.Eventually(s.t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for i, inst := range h.versions[last.Name] {
			if inst.ResourceVersion == last.ResourceVersion {
				versions = h.versions[last.Name][:i+1]
				return true
			}
		}
		return false
	}, patience, tick, "the watch shows version %s of %s", last.ResourceVersion, last.Name)
	return versions
}

// String describes all versions.
func (h *history) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out strings.Builder
	for _, versions := range h.versions {
		for _, inst := range versions {
			fmt.Fprintf(&out, "%s %s generation %d/%d %v phase %q job %.8s/%.8s annotations %v error %+v\n", inst.ResourceVersion, inst.Name,
				inst.Generation, inst.Status.ObservedGeneration, inst.DeletionTimestamp, inst.Status.Phase, inst.Status.JobID,
				inst.Status.JobIDFinished, inst.Annotations, inst.Status.LastError)
		}
	}
	return out.String()
}

// jobs returns how many jobs an Installation has had up to a version.
func (h *history) jobs(s *stage, last *v1alpha1.Installation) int {
	s.t.Helper()
	jobs := map[string]bool{}
	for _, inst := range h.of(s, last) {
		if inst.Status.JobID != "" {
			jobs[inst.Status.JobID] = true
		}
	}
	return len(jobs)
}
