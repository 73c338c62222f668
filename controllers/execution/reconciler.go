// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package execution reconciles Executions: it makes DeployItems from templates, starts each as soon as what it depends on has
// succeeded, and reports what became of them.
package execution

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/runtime/controller"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// Reconciler reconciles Executions.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server: export Secrets, and everything that a destructive decision rests on.
	Live client.Reader
	// Recorder writes events.
	Recorder record.EventRecorder
	// Metrics records durations.
	Metrics controller.Metrics
	// Backoff says when to try again after a failure.
	Backoff *queue.Backoff
	// Now is the clock.
	Now func() time.Time
	// Shard holds the Executions that the process brings on.
	Shard protocol.Shard

	executions protocol.Consistency
	items      protocol.Consistency
	restored   *flowcontrol.Backoff
}

// scope is everything that one reconciliation has read and decided so far.
type scope struct {
	execution *v1alpha1.Execution
	persisted *v1alpha1.ExecutionStatus
	now       time.Time
	// templates by name, and their names in the order of the spec.
	templates []v1alpha1.DeployItemTemplate
	// all are the existing DeployItems; items are those that serve a template, by its name; orphans have no template any more.
	all     []*v1alpha1.DeployItem
	items   map[string]*v1alpha1.DeployItem
	orphans []*v1alpha1.DeployItem
	// failed says that the job failed in this reconciliation.
	failed  bool
	requeue time.Duration
}

// Reconcile brings one Execution on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	execution := &v1alpha1.Execution{}
	if err := r.Get(ctx, req.NamespacedName, execution); err != nil {
		r.executions.Forget(req.NamespacedName)
		r.restored.Reset(req.String())
		r.Backoff.Forget(req.NamespacedName)
		protocol.ForgetDurations(ctx, r.Metrics, execution, req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(execution) || r.executions.Stale(execution) || execution.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return ctrl.Result{}, nil
	}
	started := r.Now()
	defer func() { r.Metrics.RecordDuration(ctx, execution, started) }()

	s := &scope{execution: execution, persisted: execution.Status.DeepCopy(), now: started}
	return r.settle(ctx, s, protocol.Run(ctx, s, r.steps(execution)))
}

func (r *Reconciler) steps(execution *v1alpha1.Execution) []protocol.Step[*scope] {
	if !execution.DeletionTimestamp.IsZero() {
		return []protocol.Step[*scope]{
			r.readItems,      // items.go      owner               → DeployItems as the cache has them
			r.moveShard,      // items.go      label of the shard  → the same on the items
			r.noteLost,       // observe.go    items without trace → condition RecordLost, as long as the Execution proves that each had a job
			r.decideDeletion, // delete.go     parent's job        → running job or stop
			r.pairItems,      // items.go      no templates        → all items have to go
			r.interrupt,      // job.go        operation           → unfinished items failed
			r.deleteItems,    // delete.go     reverse order       → items deleted, job handed over
			r.release,        // delete.go     all gone            → finalizer off
		}
	}
	return []protocol.Step[*scope]{
		r.readItems,     // items.go      owner               → DeployItems as the cache has them
		r.moveShard,     // items.go      label of the shard  → the same on the items
		r.noteLost,      // observe.go    items without trace → condition RecordLost, as long as the Execution proves that each had a job
		showDrift,       // observe.go    items that drifted  → condition Drifted
		r.decideJob,     // job.go        parent's job        → running job or stop
		readTemplates,   // job.go        spec                → valid templates
		r.pairItems,     // items.go      DeployItems         → by template, and those that have to go
		r.recordJob,     // job.go        job                 → status, before anything is created
		r.interrupt,     // job.go        operation           → unfinished items failed
		r.applyItems,    // items.go      templates           → DeployItems
		r.deleteOrphans, // delete.go     no template, type   → deleted first
		r.startItems,    // items.go      ready set           → job handed over, all independent items at once
		r.observeItems,  // observe.go    status of the items → done, waiting or failed
	}
}

// SetupWithManager registers indexes, watches and the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	if err := r.SetUp(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.Execution{}).
		Watches(&v1alpha1.DeployItem{}, protocol.WakeController("Execution")).
		Watches(&v1alpha1.Installation{}, handler.EnqueueRequestsFromMapFunc(deletedParent)).
		WithOptions(queue.Options(concurrency, 0)).
		Complete(r)
}

// SetUp prepares a Reconciler that somebody else calls, and registers its index.
func (r *Reconciler) SetUp(ctx context.Context, indexer client.FieldIndexer) error {
	r.restored = queue.NewRestorations()
	return indexer.IndexField(ctx, &v1alpha1.DeployItem{}, executionIndex, executionOf)
}

// executionOf indexes DeployItems by the Execution that controls them.
func executionOf(obj client.Object) []string {
	owner := protocol.ControllerOf(obj, "Execution")
	if owner == nil {
		return nil
	}
	return []string{owner.Name}
}

// deletedParent wakes the Execution of an Installation in deletion: it takes its deletion job from there.
func deletedParent(_ context.Context, obj client.Object) []reconcile.Request {
	if obj.GetDeletionTimestamp().IsZero() {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(obj)}}
}
