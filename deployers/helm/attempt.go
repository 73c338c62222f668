// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// attemptKey is where contract.Item.Memory holds the attempt of a job.
const attemptKey = "helm.attempt"

// attempt is what earlier calls of a job have achieved, so that a job that waits for readiness does not ask for chart and release again at
// every event. Losing it only costs requests: the release itself says which job made it.
type attempt struct {
	generation int64
	// deployed says that release or objects are as the job wants them.
	deployed bool
	// managed are the objects to record, unready those to check; release is the one made.
	managed []managedresource.ManagedResourceStatus
	unready []resources.Subject
	release *helmv1alpha1.ReleaseStatus
	// values are the exports that come from the values of the chart.
	values map[string]any
}

// attemptOf returns the attempt of the item's job, a new one when there is none.
func attemptOf(item *contract.Item) *attempt {
	if known, ok := item.Memory[attemptKey].(*attempt); ok && known.generation == item.DeployItem.Generation {
		return known
	}
	a := &attempt{generation: item.DeployItem.Generation}
	if item.Memory != nil {
		item.Memory[attemptKey] = a
	}
	return a
}

// reached notes that release or objects are as the job wants them.
func (a *attempt) reached(status *helmv1alpha1.ProviderStatus, unready []resources.Subject) {
	a.deployed, a.managed, a.release, a.unready = true, status.ManagedResources, status.Release, unready
}
