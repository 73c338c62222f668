// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package installation reconciles Installations: it decides when a job starts, turns blueprint and imports into an Execution and
// reports what became of it.
package installation

import (
	"context"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/controller"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
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
	// Sources are the kinds of Flux sources that are watched.
	Sources []client.Object
	// RefuseUnknownKeys fails jobs whose blueprints have keys without effect.
	RefuseUnknownKeys bool
	// Backoff says when to try again after a failure.
	Backoff *queue.Backoff
	// Jitter spreads the intervals of spec.automaticReconcile.
	Jitter queue.Jitter
	// Following says whether changes start jobs by default.
	Following Following
	// Now is the clock.
	Now func() time.Time
	// Shard holds the Installations that the process brings on.
	Shard protocol.Shard
	// Observe learns of each reconciliation why it has started a job, if it has, and the error that ended it; nil where nobody asks.
	Observe func(inst *v1alpha1.Installation, started string, err error)

	related *relations.Finder
	// metadata reads Secrets from the cache of metadata; Client would ask the API server.
	metadata client.Reader
	// installations, executions, dataObjects, targets and states (Secrets of templates) know what was written to them.
	installations, executions, dataObjects, targets, states protocol.Consistency
	// begun has by Installation which job this process has begun, and when.
	begun sync.Map
	// kept has what running jobs have made of their inputs.
	kept inputs.JobMemory[remembered]
	// restored says how often finalizers are put back.
	restored *flowcontrol.Backoff
	echo     echo
}

// scope is everything that one reconciliation has read and decided so far.
type scope struct {
	inst *v1alpha1.Installation
	now  time.Time
	// requeue is when to look again without an event; 0 is never.
	requeue time.Duration
	// persisted is the status that the API server has, started the one right after a job was started in this reconciliation.
	persisted, started *v1alpha1.InstallationStatus
	// outcome is set when the running job ended in this reconciliation.
	outcome *outcome
	jitter  queue.Jitter
	begun   *sync.Map

	// execution and children, by object name, are as the cache has them; foreign is somebody else's Execution with the name that ours would have.
	execution, foreign *v1alpha1.Execution
	children           map[string]*v1alpha1.Installation

	// prepared says that all children have the specs of the running job.
	prepared bool
	// asked says that the operation annotation asks for a job, automatic that the clock started the one of this reconciliation.
	asked, automatic bool
	// triggered says why a job was started in this reconciliation; "" when none was.
	triggered string

	inputs.Inputs
	// clusters issues kubeconfigs to templates; nil where the process does not.
	clusters *inputs.Issuer
	// env is what the templates see, shown what they see of the component.
	env   *render.Environment
	shown *repository.View
	// content has only values when nothing is left to make; it is nil until the inputs have been read.
	*content
}

// content is what a job is going to make.
type content struct {
	values      *render.Values
	deployItems []v1alpha1.DeployItemTemplate
	// subinstallations are the templates of the children.
	subinstallations []model.InstallationTemplate
	// unknown are keys without effect in the blueprint and in what its templates made.
	unknown []document.Key
}

// outcome is how a job ended in a reconciliation.
type outcome struct {
	// failure is nil where the job has succeeded; message says then what it has deployed.
	failure *protocol.Failure
	message string
	// took is for how long the job has run.
	took time.Duration
}

// begunJob is a job and when it has begun.
type begunJob struct {
	id string
	at time.Time
}

// newScope begins a reconciliation.
func newScope(inst *v1alpha1.Installation, now time.Time) *scope {
	return &scope{inst: inst, persisted: inst.Status.DeepCopy(), now: now, begun: &sync.Map{}}
}

// wake asks for another look after d unless an earlier one is planned.
func (s *scope) wake(d time.Duration) {
	if d > 0 && (s.requeue == 0 || d < s.requeue) {
		s.requeue = d
	}
}

// SetupWithManager registers indexes, watches and the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	if err := r.SetUp(ctx, mgr.GetFieldIndexer(), mgr.GetCache()); err != nil {
		return err
	}
	found := watcher{Reader: r.Client, Related: r.related, Seen: r.seen}
	return found.watch(mgr, r.Sources, r.Following.Namespaces).WithOptions(queue.Options(concurrency, 0)).Complete(r)
}

// SetUp prepares a Reconciler that somebody else calls: it registers the indexes, and takes what reads metadata.
func (r *Reconciler) SetUp(ctx context.Context, indexer client.FieldIndexer, metadata client.Reader) error {
	r.setUp(metadata)
	return registerIndexes(ctx, indexer)
}

// setUp takes what reads Secrets and ConfigMaps from the cache of metadata.
func (r *Reconciler) setUp(metadata client.Reader) {
	r.metadata, r.Inputs.Metadata = metadata, metadata
	r.related = &relations.Finder{Reader: r.Client, Live: r.Live}
	r.restored = queue.NewRestorations()
}

// seen notes that the cache shows an object by now, or does not show it any more.
func (r *Reconciler) seen(kind string, object client.Object) {
	switch kind {
	case "Secret":
		r.states.Stale(object)
	case "DataObject", "Target":
		r.written(object).Stale(object)
		r.echo.changed()
	}
}

// Reconcile brings one Installation on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	inst := &v1alpha1.Installation{}
	if err := r.Get(ctx, req.NamespacedName, inst); err != nil {
		r.installations.Forget(req.NamespacedName)
		r.Backoff.Forget(req.NamespacedName)
		r.begun.Delete(req.NamespacedName)
		r.restored.Reset(req.String())
		r.forget(req.NamespacedName)
		protocol.ForgetDurations(ctx, r.Metrics, inst, req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(inst) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if r.installations.Stale(inst) || inst.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		return ctrl.Result{}, nil
	}
	started := r.Now()
	defer func() { r.Metrics.RecordDuration(ctx, inst, started) }()

	s := newScope(inst, started)
	s.jitter, s.begun, s.clusters = r.Jitter, &r.begun, r.Inputs.ClustersFor(inst)
	defer s.GiveBack()
	if err := r.takeOver(ctx, s); err != nil {
		return r.settle(ctx, s, err)
	}
	return r.settle(ctx, s, protocol.Run(ctx, s, r.steps(inst)))
}

// steps are what a reconciliation does, one after the other until one stops. Each says what it takes and gives.
func (r *Reconciler) steps(inst *v1alpha1.Installation) []protocol.Step[*scope] {
	if forceRequested(inst) {
		return []protocol.Step[*scope]{
			r.dismantle, // force.go    everything there is, read live → record of what stays behind, the tree taken apart
			r.release,   // delete.go   all gone                       → finalizer off
		}
	}
	if !inst.DeletionTimestamp.IsZero() {
		return []protocol.Step[*scope]{
			r.mend,                 // status.go    job of an operation → annotation gone
			r.findExecution,        // apply.go     name                → Execution as the cache has it
			r.findChildren,         // apply.go     owner               → sub-installations as the cache has them
			r.moveShard,            // children.go  label of the shard  → the same on the children
			r.interrupt,            // trigger.go   operation           → children interrupted
			r.decideDeletion,       // delete.go    state of the job    → running job or stop
			r.awaitSuccessors,      // order.go     exports in use      → waits
			r.deleteChildren,       // delete.go    sub-installations   → deleted, consumers first
			r.deleteExecution,      // delete.go    Execution           → deleted
			r.awaitDeletedChildren, // delete.go    what is still there → waiting or failed
			r.release,              // delete.go    all gone            → finalizer off
		}
	}
	return []protocol.Step[*scope]{
		// decide
		r.checkOwner,    // trigger.go   owner                 → nobody, or an Installation that lists this one
		r.mend,          // status.go    job of an operation   → annotation gone; a finalizer that was lost → back
		r.findExecution, // apply.go     name                  → Execution as the cache has it
		r.findChildren,  // apply.go     owner                 → sub-installations as the cache has them
		r.moveShard,     // children.go  label of the shard    → the same on the children
		r.showDrift,     // children.go  children that drifted → condition Drifted
		r.interrupt,     // trigger.go   operation: interrupt  → children interrupted
		r.decideJob,     // trigger.go   what asks for one     → running job or stop
		// prepare, until all children have the specs of the job
		r.findPrepared,                  // children.go  specs of the children → those of the job or not; a job that would give them two specs ends
		unprepared(r.awaitPredecessors), // order.go     siblings            → waits for those that export what is imported
		unprepared(r.readInputs),        // plan.go      Context, sources, component, blueprint, imports → values
		unprepared(r.render),            // plan.go      blueprint + values  → children to make (pure, but for the state of templates)
		unprepared(r.noteKeys),          // plan.go      unknown keys        → condition and event, or failed
		unprepared(r.warnOfDeletion),    // plan.go      templates without   → event, before all of a kind is deleted
		unprepared(r.recordJob),         // status.go    job                 → status, before anything is created
		unprepared(r.publishImports),    // publish.go   imports             → copies in the own scope
		unprepared(r.applyChildren),     // apply.go     templates           → sub-installations
		unprepared(r.applyExecution),    // apply.go     deploy items        → Execution
		unprepared(r.markApplied),       // status.go    all applied         → phase
		// observe
		r.observeChildren,     // children.go  their status          → done, waiting or failed
		r.observeExecution,    // children.go  its status            → done, waiting or failed
		r.deleteLateOrphans,   // delete.go    no template           → deleted last
		r.publishExports,      // exports.go   exports of children   → DataObjects, Targets
		r.deleteRetiredCopies, // publish.go   former target imports → deleted
		r.complete,            // status.go    everything done       → succeeded
	}
}

// unprepared takes a step only where findPrepared has found that children have to get the specs of the running job.
func unprepared(step protocol.Step[*scope]) protocol.Step[*scope] {
	return func(ctx context.Context, s *scope) error {
		if s.prepared {
			return nil
		}
		return step(ctx, s)
	}
}
