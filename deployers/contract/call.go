// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/driftdesk"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/watches"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/writes"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// caller lets the deployer work.
type caller struct {
	client   client.Client
	live     client.Reader
	deployer Deployer
	options  *Options
	clock    *clock
	targets  *targets
	contexts *contexts
	// waits tells the queue that the worker of an item waits.
	waits   func(types.NamespacedName)
	watches *watches.Watches
	writes  *writes.Writer
	hooks   hooks
	drift   *driftdesk.Desk
}

// longCall is after what time a call counts as one that waits. Work of the processor takes less; what takes longer waits for a server.
const longCall = time.Second

// call lets the deployer work. Meanwhile the handlers of events end its context when the job is over, and the queue keeps what happens for the next pass.
func (r *caller) call(ctx context.Context, s *scope) error {
	key := s.key()
	impatient := time.AfterFunc(longCall, func() { r.waits(key) })
	r.work(ctx, s)
	impatient.Stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.job.HasEnded() {
		return writes.ErrLost
	}
	return nil
}

// work makes one call. The context that the deployer gets ends with the deadline, with the job and with the process.
func (r *caller) work(ctx context.Context, s *scope) {
	s.called = time.Now()
	working, cancel := s.job.Run(ctx)
	defer cancel(nil)
	if deadline := s.deadline(); !deadline.IsZero() {
		var stop context.CancelFunc
		working, stop = context.WithDeadline(working, deadline)
		defer stop()
	}
	if s.err = r.drift.Stop(working, s.key()); s.err == nil {
		s.outcome, s.err = r.perform(working, s)
	}
	if !s.job.HasEnded() { // else the item may be gone, and nobody would drop its duration
		r.options.Metrics.RecordDuration(ctx, s.item, s.called)
	}
}

func (r *caller) perform(ctx context.Context, s *scope) (Outcome, error) {
	key := s.key()
	item := &Item{
		DeployItem: s.item, Deadline: s.deadline(), Checkpoint: s.checkpointOf(ctx), Memory: s.job.Memory, DeployItems: r.live, Siblings: r.client,
		Targets: func(ctx context.Context, name string) (*target.Cluster, error) { return r.targets.open(ctx, s, name) },
		Leading: func(ctx context.Context, address string) ([]*target.Cluster, error) {
			return r.options.Clients.Leading(ctx, r.client, r.live, s.item.Namespace, address, target.ActorOf(s.item))
		},
		Changed: func(watched Watched) bool { return r.mayHaveChanged(s, watched) },
		Record:  func(ctx context.Context, status *runtime.RawExtension) error { return r.record(ctx, s, status) },
		Waits:   func() { r.waits(key) },
		Warn:    func(reason, message string) { r.warn(s, reason, message) },
		Wake:    func() { s.job.Wake() },
	}
	if err := s.item.Undecoded.Err(); err != nil && !s.deleting() {
		return Outcome{}, kit.Stall(operationReconcile, "Unreadable", "%w", err)
	}
	held, err := r.hooks.beforeReconcile(ctx, s)
	if err != nil || held != "" {
		return Outcome{Waiting: held}, err
	}
	if item.Target, err = r.targets.openOwn(ctx, s); err != nil {
		if _, planner := r.deployer.(Planner); !planner || !s.deleting() || !isTargetProblem(err) {
			return Outcome{}, err
		}
		item.TargetProblem = err
	}
	s.job.HadTarget = s.job.HadTarget || item.Target != nil
	if item.Context, err = r.contexts.read(ctx, s.item); err != nil {
		return Outcome{}, err
	}
	if s.deleting() {
		return r.deployer.Delete(ctx, item)
	}
	if s.item.Spec.Configuration == nil || len(s.item.Spec.Configuration.Raw) == 0 {
		return Outcome{}, kit.Stall(operationReconcile, "ConfigurationMissing", "spec.config is missing; set it to the provider configuration of the deployer")
	}
	if _, err := r.clock.spec(s.item); err != nil {
		return Outcome{}, kit.Stall(operationReconcile, "ConfigurationInvalid", "spec.config: %w", err)
	}
	before := s.job.Plan.Touched
	if !before {
		if err := refuseKeys(r.deployer, r.options, s.item); err != nil {
			return Outcome{}, err
		}
	}
	s.job.Plan.Touched = true
	outcome, err := r.deployer.Ensure(ctx, item)
	s.job.Plan.Touched = before || !outcome.Untouched
	return outcome, err
}

// warn is Item.Warn.
func (r *caller) warn(s *scope, reason, message string) {
	key := "warned of " + reason
	if s.job.Memory[key] == nil {
		s.job.Memory[key] = true
		r.options.Recorder.AnnotatedEventf(s.item, notify.Once(s.item.Status.JobID), corev1.EventTypeWarning, reason, "%s", kit.Message(message))
	}
}

// mayHaveChanged is Item.Changed.
func (r *caller) mayHaveChanged(s *scope, watched Watched) bool {
	key := watches.KeyOf(watches.Object(watched))
	return s.news.Tells(key) || !r.watches.Follows(s.job, key)
}

// record writes a provider status for Item.Record.
func (r *caller) record(ctx context.Context, s *scope, status *runtime.RawExtension) error {
	s.job.Records.ProviderStatus = nil // older than this one
	return r.writes.Fenced(ctx, &s.item, s.job, func(item *v1alpha1.DeployItem) error {
		item.Status.ProviderStatus = status
		return r.writes.Status(ctx, item)
	})
}

// unknownKeys returns the keys of spec.config that a deployer does not know.
func unknownKeys(typed Typed, item *v1alpha1.DeployItem) []document.Key {
	if typed == nil || item.Spec.Configuration == nil {
		return nil
	}
	return document.Keys(item.Spec.Configuration.Raw, typed.Configuration(item))
}

// refuseKeys returns an error about the keys with which nothing may be deployed.
func refuseKeys(deployer Deployer, options *Options, item *v1alpha1.DeployItem) error {
	typed, _ := deployer.(Typed)
	refused := unknownKeys(typed, item)
	if !options.RefuseUnknownKeys {
		refused, _ = document.Near(refused)
	}
	if len(refused) == 0 {
		return nil
	}
	return kit.Stall(operationReconcile, kit.UnknownKey, "DeployItem %s/%s: spec.config: %s", item.Namespace, item.Name, document.List(refused))
}
