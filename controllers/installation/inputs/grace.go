// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/imports"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
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

// ImportGrace is how long a job waits for an import that is not there: a sync that creates both creates the Installation
// first.
const ImportGrace = 700 * time.Millisecond

// collectImports reads everything that the Installation imports.
func (r *Reader) collectImports(ctx context.Context, in *Reading) error {
	found, err := r.collector().Collect(ctx, in.inst)
	if err != nil {
		return r.importFailure(ctx, in, err)
	}
	r.graces.forget(client.ObjectKeyFromObject(in.inst), jobs.ImportOperation)
	in.Imports, in.Reach.Targets, in.Reach.contents = found, found.Targets, nil
	in.inst.Status.ImportsHash = found.Hash()
	return nil
}

// importFailure makes what is missing a problem that a person has to solve, after a moment of grace and unless only the cache misses it. What
// could not be read is tried again.
func (r *Reader) importFailure(ctx context.Context, in *Reading, err error) error {
	if imports.IsUnread(err) {
		return err
	}
	if r.graces.over(in.inst, jobs.ImportOperation, in.now) {
		if arrives, problem := r.collector().IsOnServer(ctx, err); problem != nil {
			return problem
		} else if !arrives {
			r.graces.forget(client.ObjectKeyFromObject(in.inst), jobs.ImportOperation)
			return kit.Stall(jobs.ImportOperation, jobs.ReasonImportNotFound, "%w", err)
		}
	}
	in.Wake(ImportGrace)
	return kit.Wait(jobs.ImportOperation, jobs.ReasonImportNotFound, "%w", err)
}
