// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Plan is the provider status that a job found. The zero value says that the job planned nothing, or that another process planned it.
type Plan struct {
	// made says that the job replaced found by its plan.
	made bool
	// found is the provider status before.
	found *runtime.RawExtension
	// Touched says that the deployer may have changed something on the target.
	Touched bool
	// recorded is when the plan was written, as the status of the item says.
	recorded *metav1.Time
}

// PlanOf replaces the provider status of an item by what its new job plans; nil plans nothing.
func PlanOf(item *v1alpha1.DeployItem, planned *runtime.RawExtension) Plan {
	if planned == nil {
		return Plan{}
	}
	made := Plan{made: true, found: item.Status.ProviderStatus, recorded: wholeSeconds(item.Status.LastReconcileTime)}
	item.Status.ProviderStatus = planned
	return made
}

// isVoid reports whether the plan can be taken back, because nothing was done for it.
func (p *Plan) isVoid() bool { return p.made && !p.Touched }

// isLastOf reports whether no deployer has begun a job of the item since the plan was written. After that the provider status is that of the other.
func (p *Plan) isLastOf(item *v1alpha1.DeployItem) bool {
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

// TakeBack returns the provider status of an item without a void plan.
func (p *Plan) TakeBack(item *v1alpha1.DeployItem) {
	if p.isVoid() {
		item.Status.ProviderStatus = p.found
	}
}

// Void returns the plan of the job of an item that is about to be replaced or was interrupted, unless a deployer has begun another job since; else an
// empty one.
func (js *Jobs) Void(item *v1alpha1.DeployItem) *Plan {
	js.mu.Lock()
	defer js.mu.Unlock()
	key := client.ObjectKeyFromObject(item)
	last := js.ended[key]
	if running := js.running[key]; running != nil {
		last = endedPlan{running.uid, running.Plan}
	}
	if last.plan == nil || last.uid != item.UID || !last.plan.isLastOf(item) {
		return &Plan{}
	}
	return last.plan
}

// endedPlan is what is kept of a job that has ended: nothing that the deployer has remembered for it.
type endedPlan struct {
	uid  types.UID
	plan *Plan
}

// retain keeps the plan of a job that planned something, for Void.
func (js *Jobs) retain(ended *Job) {
	if ended.Plan == nil || !ended.Plan.made {
		return
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.ended == nil {
		js.ended = map[types.NamespacedName]endedPlan{}
	}
	js.ended[ended.Key] = endedPlan{ended.uid, ended.Plan}
}

// Drop forgets the plan that retain keeps of an item.
func (js *Jobs) Drop(key types.NamespacedName) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.ended, key)
}
