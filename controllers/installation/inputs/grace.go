// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
)

// graceOperations are the operations that give what they miss a moment to arrive.
var graceOperations = []string{jobs.ImportOperation, jobs.ContextOperation}

// graces remembers since when the running jobs of Installations have been missing something. The zero value is ready; it is safe for
// concurrent use.
type graces struct {
	mu    sync.Mutex
	since map[graceKey]grace
}

type graceKey struct {
	installation types.NamespacedName
	operation    string
}

type grace struct {
	uid   types.UID
	job   string
	began time.Time
}

// over reports whether an Installation has been missing something for its running job for at least importGrace. The first call begins the
// time.
func (g *graces) over(inst *v1alpha1.Installation, operation string, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	key := graceKey{client.ObjectKeyFromObject(inst), operation}
	last, ok := g.since[key]
	if ok && last.uid == inst.UID && last.job == inst.Status.JobID {
		return now.Sub(last.began) >= ImportGrace
	}
	if g.since == nil {
		g.since = map[graceKey]grace{}
	}
	g.since[key] = grace{inst.UID, inst.Status.JobID, now}
	return false
}

// forget drops what an Installation was missing for one operation: it is there, or the time is over.
func (g *graces) forget(installation types.NamespacedName, operations ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, operation := range operations {
		delete(g.since, graceKey{installation, operation})
	}
}
