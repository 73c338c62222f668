// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// takeAnswer takes the answer of a call that has gone on without a worker.
func (r *reconciler) takeAnswer(_ context.Context, s *scope) error {
	if answered := r.asides.take(s.job); answered != nil {
		s.answer(answered)
		s.isAnswered = true
	}
	return nil
}

// answer takes over what a call has found out.
func (s *scope) answer(answered *scope) {
	s.called, s.opened, s.news, s.outcome, s.err = answered.called, answered.opened, answered.news, answered.outcome, answered.err
	s.hookRequeue = sooner(s.hookRequeue, answered.hookRequeue)
}

// call lets the deployer work. A call that takes long goes on without the worker.
func (r *reconciler) call(ctx context.Context, s *scope) error {
	if !s.isAnswered {
		r.drift.stop(s.key())
		answered := r.asides.run(s, func(own *scope, c *call) { r.work(ctx, own, c) })
		if answered == nil {
			return kit.ErrStop
		}
		s.answer(answered)
		s.item = answered.item // what the call has recorded
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if s.job.hasEnded() {
		return errLost
	}
	return nil
}

// work makes one call. The context that the deployer gets ends with the deadline, with the job and with the process.
func (r *reconciler) work(ctx context.Context, s *scope, c *call) {
	s.called = time.Now()
	working, cancel := s.job.run(ctx)
	defer cancel(nil)
	if deadline := s.deadline(); !deadline.IsZero() {
		var stop context.CancelFunc
		working, stop = context.WithDeadline(working, deadline)
		defer stop()
	}
	s.outcome, s.err = r.perform(working, s, c)
	r.options.Metrics.RecordDuration(ctx, s.item, s.called)
}

func (r *reconciler) perform(ctx context.Context, s *scope, c *call) (Outcome, error) {
	item := &Item{
		DeployItem: s.item, Deadline: s.deadline(), Checkpoint: s.checkpointOf(ctx), Memory: s.job.memory, DeployItems: r.live, Siblings: r.client,
		Targets: func(ctx context.Context, name string) (*target.Cluster, error) { return r.open(ctx, s, name) },
		Leading: func(ctx context.Context, address string) ([]*target.Cluster, error) {
			return r.options.Clients.Leading(ctx, r.client, r.live, s.item.Namespace, address, target.ActorOf(s.item))
		},
		Changed: func(watched Watched) bool { return r.mayHaveChanged(s, watched) },
		Record:  func(ctx context.Context, status *runtime.RawExtension) error { return r.record(ctx, s, status) },
		Waits:   c.leave,
		Wake:    func() { r.wake(s.job) },
	}
	if err := s.item.Undecoded.Err(); err != nil && !s.deleting() {
		return Outcome{}, kit.Stall(operationReconcile, "Unreadable", "%w", err)
	}
	held, err := r.prepare(ctx, s)
	if err != nil || held != "" {
		return Outcome{Waiting: held}, err
	}
	if item.Target, err = r.openOwn(ctx, s); err != nil {
		if _, planner := r.deployer.(Planner); !planner || !s.deleting() || !isTargetProblem(err) {
			return Outcome{}, err
		}
		item.TargetProblem = err
	}
	c.reaches(item.Target)
	if item.Context, err = r.readContext(ctx, s); err != nil {
		return Outcome{}, err
	}
	if s.deleting() {
		return r.deployer.Delete(ctx, item)
	}
	if s.item.Spec.Configuration == nil || len(s.item.Spec.Configuration.Raw) == 0 {
		return Outcome{}, kit.Stall(operationReconcile, "ConfigurationMissing", "spec.config is missing; set it to the provider configuration of the deployer")
	}
	if _, err := r.continuousSpec(s.item); err != nil {
		return Outcome{}, kit.Stall(operationReconcile, "ConfigurationInvalid", "spec.config: %w", err)
	}
	before := s.job.plan.touched
	s.job.plan.touched = true
	outcome, err := r.deployer.Ensure(ctx, item)
	s.job.plan.touched = before || !outcome.Untouched
	return outcome, err
}

// isTargetProblem reports whether an error is about the Target itself, and not about the way to the landscaper cluster.
func isTargetProblem(err error) bool {
	var problem *target.Error
	return errors.As(err, &problem)
}

// openOwn opens the target of the item, if it names one.
func (r *reconciler) openOwn(ctx context.Context, s *scope) (*target.Cluster, error) {
	name := targetName(s.item)
	if name == "" || s.opened != nil || r.options.UnopenedTargets {
		return s.opened, nil
	}
	if !r.options.AnyTargetType {
		return r.open(ctx, s, name)
	}
	object, err := target.Get(ctx, r.client, r.live, s.item.Namespace, name)
	if err != nil {
		return nil, s.targetFailure(err)
	}
	if object.Spec.Type != v1alpha1.KubernetesClusterTargetType {
		return nil, nil
	}
	return r.open(ctx, s, name)
}

func (r *reconciler) open(ctx context.Context, s *scope, name string) (*target.Cluster, error) {
	cluster, err := r.options.Clients.Open(ctx, r.client, r.live, s.item.Namespace, name, target.ActorOf(s.item))
	if err != nil {
		return nil, s.targetFailure(err)
	}
	r.sites.opened(s.key(), name, cluster)
	return cluster, nil
}

func (s *scope) targetFailure(err error) error { return TargetFailure(err, s.deleting()) }

// TargetFailure says who can cure the problem of a target. A missing Target fails a deployment at once; a deletion waits for it,
// because only with it the deployed objects can go. Errors about something else stay as they are.
func TargetFailure(err error, deleting bool) error {
	var problem *target.Error
	if !errors.As(err, &problem) {
		return err
	}
	failure := &kit.Failure{Operation: operationReconcile, Reason: problem.Reason, Codes: problem.Codes, Err: err}
	if len(problem.Codes) > 0 || problem.Reason == target.ReasonNotFound && !deleting {
		failure.Kind = kit.Stalled
	}
	return failure
}
