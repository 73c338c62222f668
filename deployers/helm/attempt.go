// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// attemptKey is where contract.Item.Memory holds the attempt of a job.
const attemptKey = "helm.attempt"

// attempt is what earlier calls of a job have achieved, so that a job that waits for readiness does not ask for chart and release again at
// every event. Losing it only costs requests: the release itself says which job made it.
type attempt struct {
	generation int64
	// reached is the status to record once the target is as the job wants it, nil before; unready are the objects to check then.
	reached *helmv1alpha1.ProviderStatus
	unready []resources.Subject
	// sources are what the job has used of Flux sources, empty while it waits for one and where the chart comes from elsewhere; nil until the job
	// has looked for it.
	sources []v1alpha1.SourceStatus
	// made is the event about what the job has made, nil when that was nothing.
	made *contract.Event
	// stays says what the target has lost the record of and stays there.
	stays string
	// warning says what could not be uninstalled elsewhere.
	warning string
	// departure counts the tries to uninstall that.
	departure resources.Departure
	// failures counts the operations on the release that failed; failure is the last of them.
	failures int
	failure  error
	// testing is the revision whose tests are to pass, nil when there are none.
	testing *engine.Release
	// values are the exports that come from the values of the chart, by their keys.
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

// warn adds a warning.
func (a *attempt) warn(text string) {
	a.warning = joined(a.warning, text)
}

func joined(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "; " + second
}
