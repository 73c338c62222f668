// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// longCall is after what time a call counts as one that waits. Work of the processor takes less; what takes longer waits for a server.
const longCall = time.Second

// call lets the deployer work. Its context ends with the deadline, with the job and with the process: meanwhile the handlers of events end the job when it is
// over, and the queue keeps what happens for the next pass.
func (r *reconciler) call(ctx context.Context, s *scope) error {
	key := s.key()
	impatient := time.AfterFunc(longCall, func() { r.waits(key) })
	defer impatient.Stop()
	s.called = time.Now()
	working, cancel := s.job.Run(ctx)
	defer cancel(nil)
	if deadline := s.deadline(); !deadline.IsZero() {
		var stop context.CancelFunc
		working, stop = context.WithDeadline(working, deadline)
		defer stop()
	}
	if s.err = r.drift.Stop(working, key); s.err == nil {
		s.outcome, s.err = r.perform(working, s)
	}
	s.outcome.Waiting, s.outcome.Warning = s.inWords(s.outcome.Waiting), s.inWords(s.outcome.Warning)
	if s.err != nil {
		s.err = inWords{s.err, s.inWords(s.err.Error())}
	}
	if s.job.HasEnded() {
		return cmp.Or(ctx.Err(), errLost)
	}
	r.options.Metrics.RecordDuration(ctx, s.item, s.called) // not after the end: the item may be gone, and nobody would drop its duration
	return ctx.Err()
}

func (r *reconciler) perform(ctx context.Context, s *scope) (Outcome, error) {
	key := s.key()
	item := &Item{
		DeployItem: s.item, Deadline: s.deadline(), Checkpoint: s.checkpointOf(ctx), Memory: s.job.Memory, DeployItems: r.live, Siblings: r.client,
		Targets: func(ctx context.Context, name string) (*target.Cluster, error) { return r.open(ctx, s, name) },
		Leading: func(ctx context.Context, address string) ([]*target.Cluster, error) {
			return r.options.Clients.Leading(ctx, r.client, r.live, s.item.Namespace, address, target.ActorOf(s.item))
		},
		Changed: func(watched Watched) bool {
			return s.news.Tells(watched.key()) || !r.watches.Follows(s.job, watched.key())
		},
		Record: func(ctx context.Context, status *runtime.RawExtension) error { return r.record(ctx, s, status) },
		Waits:  func() { r.waits(key) },
		Warn: func(reason, message string) {
			if key := "warned of " + reason; s.job.Memory[key] == nil {
				s.job.Memory[key] = true
				r.warn(s, reason, s.inWords(message))
			}
		},
		Wake: func() { s.job.Wake() },
	}
	if err := s.item.Undecoded.Err(); err != nil && !s.deleting() {
		return Outcome{}, protocol.Stall(operationReconcile, "Unreadable", "%w", err)
	}
	held, err := r.hooks.beforeReconcile(ctx, s)
	if err != nil || held != "" {
		return Outcome{Waiting: held}, err
	}
	if item.Target, err = r.openOwn(ctx, s); err != nil {
		if r.planner == nil || !s.deleting() || !errors.As(err, new(*target.Error)) { // else it is about the way to the landscaper cluster
			return Outcome{}, err
		}
		item.TargetProblem = err
	}
	s.job.HadTarget = s.job.HadTarget || item.Target != nil
	if item.Context, err = r.readContext(ctx, s.item); err != nil {
		return Outcome{}, err
	}
	if s.deleting() {
		return r.deployer.Delete(ctx, item)
	}
	if s.item.Spec.Configuration == nil || len(s.item.Spec.Configuration.Raw) == 0 {
		return Outcome{}, protocol.Stall(operationReconcile, "ConfigurationMissing", "spec.config is missing; set it to the provider configuration of the deployer")
	}
	if _, err := r.clock.spec(s.item); err != nil {
		return Outcome{}, protocol.Stall(operationReconcile, protocol.ReasonInvalidConfiguration, "spec.config: %w", err)
	}
	before := s.job.Plan.Touched
	if !before {
		if err := r.refuseKeys(s.item); err != nil {
			return Outcome{}, err
		}
	}
	s.job.Plan.Touched = true
	outcome, err := r.deployer.Ensure(ctx, item)
	s.job.Plan.Touched = before || !outcome.Untouched
	return outcome, err
}

// record writes a provider status for Item.Record.
func (r *reconciler) record(ctx context.Context, s *scope, status *runtime.RawExtension) error {
	s.job.Records.ProviderStatus = nil // older than this one
	return r.update(ctx, s, func(item *v1alpha1.DeployItem) { item.Status.ProviderStatus = status })
}

// unknownKeys returns the keys of spec.config that a deployer does not know.
func (r *reconciler) unknownKeys(item *v1alpha1.DeployItem) []document.Key {
	if r.typed == nil || item.Spec.Configuration == nil {
		return nil
	}
	return document.BesideConfig(document.Keys(item.Spec.Configuration.Raw, r.typed.Configuration(item)), v1alpha1.DeployItemTemplate{})
}

// refuseKeys returns an error about the keys with which nothing may be deployed.
func (r *reconciler) refuseKeys(item *v1alpha1.DeployItem) error {
	refused := r.unknownKeys(item)
	if !r.options.RefuseUnknownKeys {
		refused, _ = document.Near(refused)
	}
	if len(refused) == 0 {
		return nil
	}
	return protocol.Stall(operationReconcile, protocol.UnknownKey, "DeployItem %s/%s: spec.config: %s", item.Namespace, item.Name, document.List(refused))
}

// maxIntroduction is how long the pick-up of a job waits for a cluster to say which one it is.
const maxIntroduction = 2 * time.Second

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
		return nil, s.targetFailure(err, name)
	}
	if object.Spec.Type != v1alpha1.KubernetesClusterTargetType {
		return nil, nil
	}
	return r.open(ctx, s, name)
}

func (r *reconciler) open(ctx context.Context, s *scope, name string) (*target.Cluster, error) {
	cluster, err := r.options.Clients.Open(ctx, r.client, r.live, s.item.Namespace, name, target.ActorOf(s.item))
	if err != nil {
		return nil, s.targetFailure(err, name)
	}
	return cluster, nil
}

// targetFailure says what the problem of a Target means for the item. The job goes on when one is missing that a deletion needs, or that of the item which was
// there when the job began: it may be about to be replaced.
func (s *scope) targetFailure(err error, name string) error {
	err = TargetFailure(err, s.deleting())
	isAwaited := s.deleting() || s.job != nil && s.job.HadTarget && name == targetName(s.item)
	if failure, is := errors.AsType[*protocol.Failure](err); is && isTargetNotFound(err) && isAwaited {
		failure.Kind = protocol.Retry
	}
	return err
}

// inWords is an error in words for people.
type inWords struct {
	error
	text string
}

// Error returns these words.
func (e inWords) Error() string { return e.text }

// Unwrap returns the error.
func (e inWords) Unwrap() error { return e.error }

// inWords returns a text of the deployer with the name that a person has given the Target of the item: the Target may be a copy whose name is a hash.
func (s *scope) inWords(text string) string {
	name, original := targetName(s.item), s.item.Annotations[v1alpha1.OriginalTargetAnnotation]
	if name == "" || original == "" {
		return text
	}
	return strings.ReplaceAll(text, name, original)
}

// destination returns where the target of an item leads, as far as that is known soon.
func (r *reconciler) destination(ctx context.Context, s *scope) managedresource.ClusterReference {
	to := managedresource.ClusterReference{Target: targetName(s.item)}
	ctx, cancel := context.WithTimeout(ctx, maxIntroduction)
	defer cancel()
	cluster, err := r.openOwn(ctx, s)
	if err != nil || cluster == nil {
		return to
	}
	s.opened = cluster
	if identity, err := cluster.Identity(ctx); err == nil {
		to.UID, to.Address = identity.UID, identity.Address
	}
	return to
}

// isWhereItWas reports whether the Target of an item still leads to where the last job deployed. A Target that cannot be opened leads nowhere:
// the job that follows says why.
func (r *reconciler) isWhereItWas(ctx context.Context, s *scope) bool {
	if r.planner == nil || targetName(s.item) == "" {
		return true
	}
	to := r.destination(ctx, s)
	if s.opened == nil {
		return false
	}
	to.Address = s.opened.Address()
	return r.planner.IsAt(s.item, to)
}

func isTargetNotFound(err error) bool {
	problem, is := errors.AsType[*target.Error](err)
	return is && problem.Reason == target.ReasonNotFound
}
