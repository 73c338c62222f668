// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// maxIntroduction is how long the pick-up of a job waits for a cluster to say which one it is.
const maxIntroduction = 2 * time.Second

// targets opens the Targets of items.
type targets struct {
	client  client.Client
	live    client.Reader
	options *Options
	// planner is nil where the deployer is none.
	planner Planner
}

// openOwn opens the target of the item, if it names one.
func (t *targets) openOwn(ctx context.Context, s *scope) (*target.Cluster, error) {
	name := items.TargetName(s.item)
	if name == "" || s.opened != nil || t.options.UnopenedTargets {
		return s.opened, nil
	}
	if !t.options.AnyTargetType {
		return t.open(ctx, s, name)
	}
	object, err := target.Get(ctx, t.client, t.live, s.item.Namespace, name)
	if err != nil {
		return nil, s.targetFailure(err, name)
	}
	if object.Spec.Type != v1alpha1.KubernetesClusterTargetType {
		return nil, nil
	}
	return t.open(ctx, s, name)
}

func (t *targets) open(ctx context.Context, s *scope, name string) (*target.Cluster, error) {
	cluster, err := t.options.Clients.Open(ctx, t.client, t.live, s.item.Namespace, name, target.ActorOf(s.item))
	if err != nil {
		return nil, s.targetFailure(err, name)
	}
	return cluster, nil
}

// targetFailure says what the problem of a Target means for the item.
func (s *scope) targetFailure(err error, name string) error {
	err = TargetFailure(err, s.deleting())
	if failure, is := errors.AsType[*kit.Failure](err); is && isTargetNotFound(err) && s.awaitsTarget(name) {
		failure.Kind = kit.Retry
	}
	return err
}

// awaitsTarget reports whether the job goes on when a Target is missing: a deletion needs it, and that of the item, which was there when the job began,
// may be about to be replaced.
func (s *scope) awaitsTarget(name string) bool {
	return s.deleting() || s.job != nil && s.job.HadTarget && name == items.TargetName(s.item)
}

// destination returns where the target of an item leads, as far as that is known soon.
func (t *targets) destination(ctx context.Context, s *scope) managedresource.ClusterReference {
	to := managedresource.ClusterReference{Target: items.TargetName(s.item)}
	ctx, cancel := context.WithTimeout(ctx, maxIntroduction)
	defer cancel()
	cluster, err := t.openOwn(ctx, s)
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
func (t *targets) isWhereItWas(ctx context.Context, s *scope) bool {
	if t.planner == nil || items.TargetName(s.item) == "" {
		return true
	}
	to := t.destination(ctx, s)
	if s.opened == nil {
		return false
	}
	to.Address = s.opened.Address()
	return t.planner.IsAt(s.item, to)
}

// isTargetProblem reports whether an error is about the Target itself, and not about the way to the landscaper cluster.
func isTargetProblem(err error) bool {
	var problem *target.Error
	return errors.As(err, &problem)
}

func isTargetNotFound(err error) bool {
	var problem *target.Error
	return errors.As(err, &problem) && problem.Reason == target.ReasonNotFound
}
