// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// maxIntroduction is how long the pick-up of a job waits for a cluster to say which one it is.
const maxIntroduction = 2 * time.Second

// Planner is a Deployer that knows before it reaches the target what a job sets out to put there. What it plans is recorded with
// the write that picks the job up, so that nothing is lost when the process dies in the middle of the job. Its Delete is called also when the
// target cannot be opened, because its records say whether the target is needed; see Item.TargetProblem.
type Planner interface {
	Deployer
	// Plan returns the provider status that records what the job of an item sets out to do, beside what the provider status of the
	// item says already. To is where the item's Target leads; of a cluster that does not answer it has the name of the Target only, and
	// nothing where the item names none. Plan only looks at the item, and must not change it. Nil leaves the provider status as it is.
	//
	// The Target may lead somewhere else when the deployer is called. Then it calls Item.Record before it changes anything there.
	//
	// The contract takes the plan back when a job ends that never touched the target, see Outcome.Untouched.
	Plan(item *v1alpha1.DeployItem, to managedresource.ClusterReference) *runtime.RawExtension
	// IsAt reports whether what the last job of an item deployed is where its Target leads, as far as the record says. Of a cluster that
	// does not answer the address is known only.
	IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool
	// Close returns what is left to record of status, a provider status with which the deployer ends the running job of an item: not what the
	// target refused to the job, because that was never created. A job that somebody else ends is not closed: a write of it may be on its way.
	Close(item *v1alpha1.DeployItem, status *runtime.RawExtension) *runtime.RawExtension
}

// plan is the provider status that a job found. The zero value says that the job planned nothing, or that another process planned it.
type plan struct {
	// made says that the job replaced found by its plan.
	made bool
	// found is the provider status before.
	found *runtime.RawExtension
	// touched says that the deployer may have changed something on the target.
	touched bool
	// recorded is when the plan was written, as the status of the item says.
	recorded *metav1.Time
}

// isVoid reports whether the plan can be taken back, because nothing was done for it.
func (p *plan) isVoid() bool { return p.made && !p.touched }

// isLastOf reports whether no deployer has begun a job of the item since the plan was written. After that the provider status is that of the other.
func (p *plan) isLastOf(item *v1alpha1.DeployItem) bool {
	return p.recorded.Equal(wholeSeconds(item.Status.LastReconcileTime))
}

// wholeSeconds returns a time as the API server keeps it.
func wholeSeconds(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	kept := t.Rfc3339Copy()
	return &kept
}

// takeBack returns the provider status of an item without a void plan.
func (p *plan) takeBack(item *v1alpha1.DeployItem) {
	if p.isVoid() {
		item.Status.ProviderStatus = p.found
	}
}

// closed makes the outcome of a job what it ends with.
func (r *reconciler) closed(item *v1alpha1.DeployItem, outcome Outcome) Outcome {
	if planner, ok := r.deployer.(Planner); ok && outcome.ProviderStatus != nil {
		outcome.ProviderStatus = planner.Close(item, outcome.ProviderStatus)
	}
	return outcome
}

// plan writes into the status of an item what its new job sets out to do.
func (r *reconciler) plan(ctx context.Context, s *scope) plan {
	item := s.item
	planner, ok := r.deployer.(Planner)
	if !ok || isDeleting(item) {
		return plan{}
	}
	planned := planner.Plan(item, r.destination(ctx, s))
	if planned == nil {
		return plan{}
	}
	made := plan{made: true, found: item.Status.ProviderStatus, recorded: wholeSeconds(item.Status.LastReconcileTime)}
	item.Status.ProviderStatus = planned
	return made
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
	planner, ok := r.deployer.(Planner)
	if !ok || targetName(s.item) == "" {
		return true
	}
	to := r.destination(ctx, s)
	if s.opened == nil {
		return false
	}
	to.Address = s.opened.Address()
	return planner.IsAt(s.item, to)
}

// record writes a provider status for Item.Record.
func (r *reconciler) record(ctx context.Context, s *scope, status *runtime.RawExtension) error {
	s.job.outcome.ProviderStatus = nil // older than this one
	return r.fenced(ctx, s, func(item *v1alpha1.DeployItem) error {
		item.Status.ProviderStatus = status
		return r.updateStatus(ctx, item)
	})
}

// void returns the plan of the job of an item that is about to be replaced or was interrupted, unless a deployer has begun another job since; else an
// empty one.
func (js *jobs) void(item *v1alpha1.DeployItem) *plan {
	js.mu.Lock()
	defer js.mu.Unlock()
	key := client.ObjectKeyFromObject(item)
	last := js.running[key]
	if last == nil {
		last = js.ended[key]
	}
	if last == nil || last.uid != item.UID || !last.plan.isLastOf(item) {
		return &plan{}
	}
	return &last.plan
}

// retain keeps a job that planned something, for void.
func (js *jobs) retain(ended *job) {
	if !ended.plan.made {
		return
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.ended == nil {
		js.ended = map[types.NamespacedName]*job{}
	}
	js.ended[ended.key] = ended
}

// drop forgets the job that retain keeps of an item.
func (js *jobs) drop(key types.NamespacedName) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.ended, key)
}
