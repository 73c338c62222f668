// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package installation reconciles Installations: it decides when a job starts, turns blueprint and imports into an Execution and
// reports what became of it. It promises nothing to others.
package installation

import (
	"context"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/controller"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Reconciler reconciles Installations.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server: contents of Secrets and ConfigMaps, and everything that a destructive decision rests on.
	Live client.Reader
	// Recorder writes events.
	Recorder record.EventRecorder
	// Metrics records durations.
	Metrics controller.Metrics
	// Inputs reads what jobs work with.
	Inputs inputs.Reader
	// UnwatchedSources are the kinds that UnwatchableSources returned.
	UnwatchedSources []client.Object
	// Backoff says when to try again after a failure.
	Backoff *kit.Backoff
	// Jitter spreads the intervals of spec.automaticReconcile.
	Jitter kit.Jitter
	// Now is the clock.
	Now func() time.Time

	// Shard holds the Installations that the process brings on.
	Shard kit.Shard

	// metadata reads Secrets from the cache of metadata; Client would ask the API server.
	metadata client.Reader

	installations kit.Consistency
	executions    kit.Consistency
	dataObjects   kit.Consistency
	targets       kit.Consistency
	states        kit.Consistency
	echo          kit.Echo
	related       *relations.Finder
	force         *force.Deletion
	restored      *flowcontrol.Backoff
	sharing       sync.Once
	// plans are those of running jobs.
	plans inputs.JobMemory[remembered]
}

// Reconcile brings one Installation on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	r.shareMemory()
	inst := &v1alpha1.Installation{}
	if err := r.Get(ctx, req.NamespacedName, inst); err != nil {
		r.installations.Forget(req.NamespacedName)
		r.Backoff.Forget(req.NamespacedName)
		r.restored.Reset(req.String())
		r.forgetJob(req.NamespacedName)
		kit.ForgetDurations(ctx, r.Metrics, inst, req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(inst) {
		r.forgetJob(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if r.installations.Stale(inst) || inst.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return ctrl.Result{}, nil
	}
	started := r.Now()
	defer func() { r.Metrics.RecordDuration(ctx, inst, started) }()

	s := &scope{inst: inst, remains: force.Of(inst), persisted: inst.Status.DeepCopy(), now: started, jitter: r.Jitter, clusters: r.Inputs.ClustersFor(inst)}
	defer s.GiveBack()
	if err := r.takeOver(ctx, s); err != nil {
		return r.settle(ctx, s, err)
	}
	return r.settle(ctx, s, kit.Run(ctx, s, r.phases(inst)))
}

func (r *Reconciler) phases(inst *v1alpha1.Installation) []kit.Phase[*scope] {
	if force.Requested(inst) {
		return []kit.Phase[*scope]{
			remains(r.force.Survey),          // internal/force  name, owners     → everything there is, read live
			remains(r.force.RecordLeftovers), // internal/force  deploy items     → record of what stays behind
			remains(r.force.Dismantle),       // internal/force  record written   → the tree taken apart
			r.release,                        // delete.go       all gone         → finalizer off
		}
	}
	if !inst.DeletionTimestamp.IsZero() {
		return []kit.Phase[*scope]{
			r.mendMetadata,         // operation.go         job of an operation → annotation gone
			r.findExecution,        // execution.go         name                → Execution as the cache has it
			r.findChildren,         // subinstallations.go  owner               → sub-installations as the cache has them
			r.moveShard,            // shard.go             label of the shard  → the same on the children
			r.interrupt,            // operation.go         operation           → children interrupted
			r.decideDeletion,       // delete.go            state of the job    → running job or stop
			r.awaitSuccessors,      // siblings.go          exports in use      → waits
			r.deleteChildren,       // subinstallations.go  sub-installations   → deleted, consumers first
			r.deleteExecution,      // delete.go            Execution           → deleted
			r.awaitDeletedChildren, // subinstallations.go  what is still there → waiting or failed
			r.release,              // delete.go            all gone            → finalizer off
		}
	}
	return []kit.Phase[*scope]{
		// decide
		r.checkOwner,    // ownership.go         owner                → nobody, or an Installation that lists this one
		r.mendMetadata,  // operation.go         job of an operation  → annotation gone; a finalizer that was lost → back
		r.findExecution, // execution.go         name                 → Execution as the cache has it
		r.findChildren,  // subinstallations.go  owner                → sub-installations as the cache has them
		r.moveShard,     // shard.go             label of the shard   → the same on the children
		r.interrupt,     // operation.go         operation: interrupt → children interrupted
		r.decideJob,     // trigger.go           what asks for one    → running job or stop
		// prepare, until all children have the specs of the job: awaitPredecessors, reads, makes
		r.prepare, // prepare.go  running job → children
		// observe
		r.observeChildren,     // subinstallations.go  their status          → done, waiting or failed
		r.observeExecution,    // observe.go           its status            → done, waiting or failed
		r.deleteLateOrphans,   // orphans.go           no template           → deleted last
		r.publishExports,      // exports.go           exports of children   → DataObjects, Targets
		r.deleteRetiredCopies, // copies.go            former target imports → deleted
		r.complete,            // status.go            everything done       → succeeded
	}
}

// makes are the phases that make the children of a job.
func (r *Reconciler) makes() []kit.Phase[*scope] {
	return []kit.Phase[*scope]{
		r.renderPlan,     // render.go            blueprint + values → children to make (pure, but for the state of templates)
		r.recordJob,      // status.go            job                → status, before anything is created
		r.publishImports, // copies.go            imports            → copies in the own scope
		r.applyChildren,  // subinstallations.go  templates          → sub-installations
		r.applyExecution, // execution.go         deploy items       → Execution
		r.markApplied,    // subinstallations.go  all applied        → phase
	}
}

// forgetJob drops everything that is kept of the job of an Installation: it is over, or the Installation is gone.
func (r *Reconciler) forgetJob(key types.NamespacedName) {
	r.plans.Drop(key)
	r.Inputs.Forget(key)
}

// shareMemory lets all caches of the controller share one Budget.
func (r *Reconciler) shareMemory() {
	r.sharing.Do(func() { r.plans.Budget = r.Inputs.ShareMemory() })
}
