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
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/order"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/publishing"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/writing"
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
	// RefuseUnknownKeys fails jobs whose blueprints have keys without effect.
	RefuseUnknownKeys bool
	// Backoff says when to try again after a failure.
	Backoff *kit.Backoff
	// Jitter spreads the intervals of spec.automaticReconcile.
	Jitter kit.Jitter
	// Following says whether changes start jobs by default.
	Following Following
	// Now is the clock.
	Now func() time.Time

	// Shard holds the Installations that the process brings on.
	Shard kit.Shard

	installations kit.Consistency
	executions    kit.Consistency
	begun         sync.Map
	related       *relations.Finder
	writer        *writing.Writer
	order         *order.Order
	plans         *plan.Maker
	children      *children.Keeper
	publisher     *publishing.Publisher
	force         *force.Deletion
}

// Reconcile brings one Installation on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	inst := &v1alpha1.Installation{}
	if err := r.Get(ctx, req.NamespacedName, inst); err != nil {
		r.installations.Forget(req.NamespacedName)
		r.Backoff.Forget(req.NamespacedName)
		r.begun.Delete(req.NamespacedName)
		r.writer.Restored.Reset(req.String())
		r.plans.Forget(req.NamespacedName)
		kit.ForgetDurations(ctx, r.Metrics, inst, req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(inst) {
		r.plans.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if r.installations.Stale(inst) || inst.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return ctrl.Result{}, nil
	}
	started := r.Now()
	defer func() { r.Metrics.RecordDuration(ctx, inst, started) }()

	s := newReconciliation(inst, started)
	s.jitter, s.begun, s.plan.Clusters = r.Jitter, &r.begun, r.Inputs.ClustersFor(inst)
	defer s.plan.GiveBack()
	if err := r.takeOver(ctx, s); err != nil {
		return r.settle(ctx, s, err)
	}
	return r.settle(ctx, s, kit.Run(ctx, s, r.steps(inst)))
}

func (r *Reconciler) steps(inst *v1alpha1.Installation) []kit.Step[*reconciliation] {
	if force.Requested(inst) {
		return []kit.Step[*reconciliation]{
			remains(r.force.Survey),          // internal/force  name, owners   → everything there is, read live
			remains(r.force.RecordLeftovers), // internal/force  deploy items   → record of what stays behind
			remains(r.force.Dismantle),       // internal/force  record written → the tree taken apart
			r.release,                        // delete.go       all gone       → finalizer off
		}
	}
	if !inst.DeletionTimestamp.IsZero() {
		return []kit.Step[*reconciliation]{
			draft(r.writer.Mend),                    // internal/writing   job of an operation → annotation gone
			family(r.children.FindExecution),        // internal/children  name                → Execution as the cache has it
			family(r.children.FindChildren),         // internal/children  owner               → sub-installations as the cache has them
			family(r.children.MoveShard),            // internal/children  label of the shard  → the same on the children
			r.interrupt,                             // operation.go       operation           → children interrupted
			r.decideDeletion,                        // delete.go          state of the job    → running job or stop
			family(r.order.AwaitSuccessors),         // internal/order     exports in use      → waits
			family(r.children.DeleteChildren),       // internal/children  sub-installations   → deleted, consumers first
			family(r.children.DeleteExecution),      // internal/children  Execution           → deleted
			family(r.children.AwaitDeletedChildren), // internal/children  what is still there → waiting or failed
			r.release,                               // delete.go          all gone            → finalizer off
		}
	}
	return []kit.Step[*reconciliation]{
		// decide
		r.checkOwner,                     // ownership.go         owner                 → nobody, or an Installation that lists this one
		draft(r.writer.Mend),             // internal/writing     job of an operation   → annotation gone; a finalizer that was lost → back
		family(r.children.FindExecution), // internal/children    name                  → Execution as the cache has it
		family(r.children.FindChildren),  // internal/children    owner                 → sub-installations as the cache has them
		family(r.children.MoveShard),     // internal/children    label of the shard    → the same on the children
		family(r.children.ShowDrift),     // internal/children    children that drifted → condition Drifted
		r.interrupt,                      // operation.go         operation: interrupt  → children interrupted
		r.decideJob,                      // trigger.go           what asks for one     → running job or stop
		// prepare, until all children have the specs of the job: awaitPredecessors, reads, makes
		r.prepare, // prepare.go           running job           → children
		// observe
		family(r.children.ObserveChildren),       // internal/children    their status          → done, waiting or failed
		family(r.children.ObserveExecution),      // internal/children    its status            → done, waiting or failed
		family(r.children.DeleteLateOrphans),     // internal/children    no template           → deleted last
		r.publishExports,                         // status.go            exports of children   → DataObjects, Targets
		planned(r.publisher.DeleteRetiredCopies), // internal/publishing  former target imports → deleted
		r.complete,                               // status.go            everything done       → succeeded
	}
}

// makes are the steps that make the children of a job.
func (r *Reconciler) makes() []kit.Step[*reconciliation] {
	return []kit.Step[*reconciliation]{
		planned(r.plans.Render),          // internal/plan        blueprint + values → children to make (pure, but for the state of templates)
		r.noteKeys,                       // prepare.go           unknown keys       → condition and event, or failed
		r.warnOfDeletion,                 // prepare.go           templates without  → event, before all of a kind is deleted
		r.recordJob,                      // status.go            job                → status, before anything is created
		made(r.publisher.PublishImports), // internal/publishing  imports            → copies in the own scope
		made(r.children.ApplyChildren),   // internal/children    templates          → sub-installations
		made(r.children.ApplyExecution),  // internal/children    deploy items       → Execution
		r.markApplied,                    // status.go            all applied        → phase
	}
}
