// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"k8s.io/utils/lru"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// rememberedJobs bounds how many jobs are remembered. Forgetting one costs a look at the release.
const rememberedJobs = 4096

// progress remembers what the jobs under way have achieved, so that a job that waits for readiness does not ask for chart and release
// again at every event. It only saves work: the release itself says which job made it.
type progress struct {
	jobs *lru.Cache
}

// attempt is what one job has achieved.
type attempt struct {
	jobID      string
	generation int64
	// deployed says that release or objects are as the job wants them; managed are the objects to check, release is the one made.
	deployed bool
	managed  []managedresource.ManagedResourceStatus
	release  *helmv1alpha1.ReleaseStatus
	// values are the exports that come from the values of the chart.
	values map[string]any
}

func newProgress() *progress { return &progress{jobs: lru.New(rememberedJobs)} }

// of returns the attempt of the item's current job, a new one when there is none.
func (p *progress) of(item *contract.Item) *attempt {
	status, generation := item.DeployItem.Status, item.DeployItem.Generation
	if known, ok := p.jobs.Get(item.DeployItem.UID); ok {
		if a := known.(*attempt); a.jobID == status.JobID && a.generation == generation {
			return a
		}
	}
	a := &attempt{jobID: status.JobID, generation: generation}
	p.jobs.Add(item.DeployItem.UID, a)
	return a
}

func (p *progress) forget(item *contract.Item) { p.jobs.Remove(item.DeployItem.UID) }
