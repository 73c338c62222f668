// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	// leaseDuration is for how long a Lease holds that says nothing usable about it, and the grace for agents after the start of the process.
	leaseDuration = 45 * time.Second
	// minLease and maxLease bound what a Lease says.
	minLease, maxLease = 5 * time.Second, 10 * time.Minute
)

// Reasons of the condition AgentConnected.
const (
	reasonConnected   = "LeaseRenewed"
	reasonUnreachable = protocol.ReasonAgentUnreachable
	reasonNoAgent     = "NoAgent"
	reasonUnknown     = "NotObservedYet"
)

// maxVersion is how much of the version in a Lease is shown.
const maxVersion = 64

// sighting is what this process has seen of the Lease of an agent.
type sighting struct {
	// version is the resourceVersion, empty while there is no Lease.
	version string
	// at is when it was first seen so, by the own clock.
	at time.Time
	// renewed says that the Lease has changed under the eyes of this process, or was created less than its duration ago. What else was there
	// before says nothing about now.
	renewed bool
}

// agents holds the sightings by Environment. It is safe for concurrent use.
type agents struct {
	mu   sync.Mutex
	seen map[string]sighting
}

// see notes the state of the Lease of an agent, and returns what is known about it. When a Lease was created says the API server, by the clock of
// the landscaper cluster.
func (a *agents) see(name string, lease *coordinationv1.Lease, now time.Time) sighting {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, known := a.seen[name]
	if known && last.version == lease.ResourceVersion {
		return last
	}
	if a.seen == nil {
		a.seen = map[string]sighting{}
	}
	next := sighting{version: lease.ResourceVersion, at: now, renewed: known && lease.ResourceVersion != ""}
	if created := lease.CreationTimestamp.Time; !known && now.Sub(created) < holds(lease) {
		next.renewed = true
		if created.Before(now) {
			next.at = created
		}
	}
	a.seen[name] = next
	return next
}

func (a *agents) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.seen, name)
}

// verdict is what a sighting says about an agent.
type verdict struct {
	status metav1.ConditionStatus
	reason string
	// left is when to judge again without an event; 0 is never.
	left time.Duration
}

// judge says whether an agent is connected. Times that the agent wrote count for nothing: its clock may be wrong. Until a lease has passed
// since this process first looked, the last verdict stands, which is was.
func judge(seen sighting, holds time.Duration, was *metav1.Condition, now time.Time) verdict {
	left := seen.at.Add(holds).Sub(now)
	switch {
	case left > 0 && seen.renewed:
		return verdict{metav1.ConditionTrue, reasonConnected, left}
	case left > 0 && was == nil:
		return verdict{metav1.ConditionUnknown, reasonUnknown, left}
	case left > 0:
		return verdict{was.Status, was.Reason, left}
	case seen.version == "" && (was == nil || was.Status != metav1.ConditionTrue && was.Reason != reasonUnreachable):
		return verdict{metav1.ConditionFalse, reasonNoAgent, 0}
	}
	return verdict{metav1.ConditionFalse, reasonUnreachable, 0}
}

// judgeAgent puts into the status whether the agent gives signs of life.
func (r *Reconciler) judgeAgent(ctx context.Context, s *scope) error {
	if s.home == "" {
		return nil
	}
	lease := &coordinationv1.Lease{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.home, Name: v1alpha1.AgentLeasePrefix + s.env.Name}, lease)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	seen := r.agents.see(s.env.Name, lease, s.now)
	was := conditions.Get(s.env, v1alpha1.AgentConnectedCondition)
	found := judge(seen, holds(lease), was, s.now)
	if found.left > 0 {
		s.wakeIn(found.left)
	}
	if version := lease.Annotations[v1alpha1.AgentVersionAnnotation]; version != "" {
		s.env.Status.AgentVersion = foreign.Beginning(version, maxVersion)
	}
	if was != nil && was.Status == found.status && was.Reason == found.reason {
		return nil
	}
	if seen.renewed {
		s.env.Status.AgentLastSeen = &metav1.Time{Time: seen.at}
	}
	show(s.env, s.home, found)
	return nil
}

// holds returns for how long a Lease holds.
func holds(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return leaseDuration
	}
	return min(max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, minLease), maxLease)
}

func show(env *v1alpha1.Environment, namespace string, found verdict) {
	lease := namespace + "/" + v1alpha1.AgentLeasePrefix + env.Name
	switch found.status {
	case metav1.ConditionTrue:
		conditions.MarkTrue(env, v1alpha1.AgentConnectedCondition, found.reason, "the agent renews its Lease %s", lease)
	case metav1.ConditionUnknown:
		conditions.MarkUnknown(env, v1alpha1.AgentConnectedCondition, found.reason, "the Lease %s of the agent is awaited", lease)
	default:
		text := "the agent does not renew its Lease %s; its DeployItems wait until it does"
		if found.reason == reasonNoAgent {
			text = "no agent holds the Lease %s; install the agent of this Environment, or delete the Environment"
		}
		conditions.MarkFalse(env, v1alpha1.AgentConnectedCondition, found.reason, text, lease)
	}
}

// isConnected reports whether the agent gives signs of life.
func isConnected(env *v1alpha1.Environment) bool {
	return conditions.IsTrue(env, v1alpha1.AgentConnectedCondition)
}
