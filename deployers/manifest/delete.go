// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	api "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// remove carries out the deletion of an item. It needs the status and, where somebody has changed them, the deletion groups; the rest of
// the configuration may be broken.
func (d *Deployer) remove(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	if err := item.Checkpoint("manifest deployer: start delete"); err != nil {
		return contract.Outcome{}, err
	}
	recorded, err := status(item.DeployItem)
	if err != nil {
		return contract.Outcome{}, err
	}
	if isNothing(recorded) && !mayHaveLeftovers(recorded, item.DeployItem.Generation-1) {
		return contract.Outcome{Done: true}, nil
	}
	groups, err := deletionGroups(item, recorded)
	if err != nil {
		return contract.Outcome{}, configurationProblem(err)
	}
	session := resources.NewSession(item, d.memory, nil)
	if session.Cluster, err = cluster(ctx, item, recorded); err != nil {
		return contract.Outcome{}, err
	}
	progress, err := uninstall(ctx, session, item, recorded, groups)
	if err == nil && progress.Done() {
		return contract.Outcome{Done: true}, nil
	}
	outcome := progress.Outcome()
	if len(recorded.ManagedResources) == 0 {
		outcome.ProviderStatus, _ = api.EncodeStatus(recorded)
	}
	return outcome, err
}

// isNothing reports whether nothing is recorded that a deletion has to remove.
func isNothing(recorded *v1alpha2.ProviderStatus) bool {
	return len(recorded.ManagedResources) == 0 && len(inventoryOf(recorded).Sites) == 0
}

// cluster returns where to begin: the target of the item or, when that cannot be opened, the one of the record.
func cluster(ctx context.Context, item *contract.Item, recorded *v1alpha2.ProviderStatus) (*target.Cluster, error) {
	if item.Target != nil {
		return item.Target, nil
	}
	missing := item.TargetProblem
	if missing == nil {
		missing = configurationProblem(errNoTarget)
	}
	last := inventoryOf(recorded).Cluster
	if last == nil || item.Targets == nil {
		return nil, missing
	}
	opened, err := item.Targets(ctx, last.Target)
	if err != nil {
		return nil, missing
	}
	return opened, nil
}

// uninstall removes everything that jobs of the item put on the session's cluster, and then what they put on others. What is gone leaves the
// record.
func uninstall(ctx context.Context, session *resources.Session, item *contract.Item, recorded *v1alpha2.ProviderStatus,
	groups []managedresource.DeletionGroupDefinition) (resources.Progress, error) {
	search := mayHaveLeftovers(recorded, item.DeployItem.Generation-1)
	inventory := inventoryOf(recorded)
	known, err := session.Settle(ctx, inventory, recorded.ManagedResources)
	if err != nil {
		return resources.Progress{}, err
	}
	found, err := unrecorded(ctx, session, known, search)
	if err != nil {
		return resources.Progress{}, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	progress, err := session.Delete(ctx, resources.Union(known.Recorded, found), groups)
	if err != nil || !progress.Done() {
		return progress, err
	}
	recorded.ManagedResources, recorded.Inventory = nil, inventory
	return session.LeaveElsewhere(ctx, inventory, groups, nil)
}

// unrecorded returns the objects on the target that no job has confirmed.
func unrecorded(ctx context.Context, session *resources.Session, known resources.Known, search bool) ([]managedresource.ManagedResourceStatus, error) {
	if search {
		return session.Sweep(ctx, resources.Namespaces(known.Recorded...)...)
	}
	return session.Confirm(ctx, slices.Concat(known.Attempted, known.Planned))
}

// deletionGroups returns the deletion groups of the configuration. When they are broken they were never in force, and those of the last
// valid configuration count.
func deletionGroups(item *contract.Item, recorded *v1alpha2.ProviderStatus) ([]managedresource.DeletionGroupDefinition, error) {
	if item.DeployItem.Spec.Configuration == nil {
		return inventoryOf(recorded).DeletionGroups, nil
	}
	groups, err := api.DecodeDeletionGroups(item.DeployItem.Spec.Configuration.Raw)
	switch {
	case err == nil:
		return groups, nil
	case recorded.Inventory != nil:
		return recorded.Inventory.DeletionGroups, nil
	}
	return nil, fmt.Errorf("spec.config: %w", err)
}
