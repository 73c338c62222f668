// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// deleteSteps are the steps of a deletion. All look at what the status records, because mode, names and Target may have changed between jobs.
var deleteSteps = []step{
	{"helm deployer: start delete", (*job).settleOrExplain}, // inventory.go status + target → what is where
	{"", (*job).searchOrExplain},                            // search.go    lost record     → what carries the marks
	{"", (*job).retireAll},                                  // delete.go    releases        → gone
	{"helm deployer: start deleting", (*job).deleteObjects}, // delete.go    objects         → gone
	{"", (*job).leaveAllElsewhere},                          // delete.go    other clusters  → gone
}

// scatteredSteps are those of a deletion whose target cannot be opened.
var scatteredSteps = []step{
	{"helm deployer: start delete", (*job).scatter}, // delete.go    status         → what is where
	{"", (*job).leaveAllElsewhere},                  // delete.go    all clusters   → gone
}

// Delete uninstalls the releases, and deletes the objects that were applied without one. It needs no chart and no valid configuration, and a
// target only if something was deployed.
func (d *deployer) Delete(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	j, err := d.beginDelete(item)
	if err != nil || j == nil {
		return contract.Outcome{Done: err == nil}, err
	}
	ctx, end := d.engine.Session(engine.OnWait(ctx, item.Waits))
	defer end()
	steps := deleteSteps
	if j.item.Target == nil {
		steps = scatteredSteps
	}
	outcome, err := j.walk(ctx, steps)
	outcome.ProviderStatus = nil // what was recorded stays recorded until the item is gone
	return outcome, err
}

// beginDelete returns the job, nil if there is nothing to delete.
func (d *deployer) beginDelete(item *contract.Item) (*job, error) {
	decoded, err := configuration(item.DeployItem)
	if err != nil {
		decoded = &helmv1alpha1.ProviderConfiguration{}
	}
	status, err := statusOf(item.DeployItem, decoded)
	if err != nil {
		return nil, misconfigured(item, fmt.Errorf("status.providerStatus: %w", err))
	}
	if isNothing(status) && !contract.HasLostRecord(item.DeployItem) {
		return nil, nil
	}
	return &job{deployer: d, item: item, config: decoded, status: status, attempt: &attempt{}}, nil
}

// scatter finds out what is where by the record alone.
func (j *job) scatter(context.Context) error {
	isKnown := !contract.HasLostRecord(j.item.DeployItem) && resources.Scatter(j.status.Inventory, j.recordedObjects())
	if isKnown {
		return nil
	}
	if j.item.TargetProblem != nil {
		return contract.CannotLook(j.item.DeployItem, j.item.TargetProblem)
	}
	return contract.CannotLook(j.item.DeployItem, misconfigured(j.item, errNoTarget))
}

// settleOrExplain is settle for a deletion.
func (j *job) settleOrExplain(ctx context.Context) error {
	return contract.CannotLook(j.item.DeployItem, j.settle(ctx))
}

// isNothing reports whether no job of an item has set out to put anything anywhere.
func isNothing(status *helmv1alpha1.ProviderStatus) bool {
	inventory := status.Inventory
	return inventory.Cluster == nil && len(inventory.Releases) == 0 && len(inventory.Sites) == 0 && len(status.ManagedResources) == 0
}

// retireAll uninstalls the releases on the target.
func (j *job) retireAll(ctx context.Context) error {
	for _, release := range slices.Clone(j.status.Inventory.Releases) {
		if err := until(j.retire(ctx, j.item.Target, release)); err != nil {
			return err
		}
	}
	return nil
}

// deleteObjects removes the objects that were applied without a release.
func (j *job) deleteObjects(ctx context.Context) error {
	found, err := resources.Confirm(ctx, j.session(), slices.Concat(j.known.Attempted, j.known.Planned))
	if err != nil {
		return err
	}
	return until(resources.Delete(ctx, j.session(), resources.Union(j.known.Recorded, found), j.deletionGroups()))
}

// leaveAllElsewhere uninstalls what is on other clusters. The deletion waits for those that cannot be reached.
func (j *job) leaveAllElsewhere(ctx context.Context) error {
	return until(resources.LeaveElsewhere(ctx, j.session(), j.status.Inventory, j.deletionGroups(), j.retire))
}
