// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// history is every version of every Installation and Execution of a namespace, in the order in which they were written.
type history struct {
	mu         sync.Mutex
	versions   map[string][]*v1alpha1.Installation
	executions map[string][]*v1alpha1.Execution
}

// watch begins a history.
func (s *stage) watch() *history {
	s.t.Helper()
	h := &history{versions: map[string][]*v1alpha1.Installation{}, executions: map[string][]*v1alpha1.Execution{}}
	for _, list := range []client.ObjectList{&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}} {
		watcher, err := s.client.Watch(s.ctx, list, client.InNamespace(s.namespace))
		require.NoError(s.t, err)
		s.t.Cleanup(watcher.Stop)
		go func() {
			for event := range watcher.ResultChan() {
				h.note(event.Object)
			}
		}()
	}
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Log(h.String())
		}
	})
	return h
}

func (h *history) note(object runtime.Object) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch o := object.(type) {
	case *v1alpha1.Installation:
		h.versions[o.Name] = append(h.versions[o.Name], o)
	case *v1alpha1.Execution:
		h.executions[o.Name] = append(h.executions[o.Name], o)
	}
}

// ofExecution returns the versions of an Execution up to the present one.
func (h *history) ofExecution(s *stage, name string) []*v1alpha1.Execution {
	s.t.Helper()
	last := until(s, &v1alpha1.Execution{ObjectMeta: s.named(name)}, func(*v1alpha1.Execution) bool { return true })
	var versions []*v1alpha1.Execution
	require.Eventually(s.t, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		versions = h.executions[name]
		return len(versions) > 0 && versions[len(versions)-1].ResourceVersion == last.ResourceVersion
	}, patience, tick, "the watch shows version %s of %s", last.ResourceVersion, name)
	return versions
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
