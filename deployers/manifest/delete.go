// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
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
	if isNothing(recorded) && !isSearched(item.DeployItem, recorded) {
		return contract.Outcome{Done: true}, nil
	}
	groups, err := deletionGroups(item, recorded)
	if err != nil {
		return contract.Outcome{}, configurationProblem(err)
	}
	session := resources.NewSession(item, nil)
	if session.Cluster == nil {
		return withoutTarget(ctx, session, item, recorded, groups)
	}
	progress, err := uninstall(ctx, session, item, recorded, groups)
	if err == nil && progress.Done() {
		return contract.Outcome{Done: true}, nil
	}
	outcome := progress.Outcome()
	if len(recorded.ManagedResources) == 0 {
		outcome.ProviderStatus, _ = v1alpha2.EncodeStatus(recorded)
	}
	return outcome, err
}

// withoutTarget carries out the deletion of an item whose target cannot be opened: by the record, as far as that says where things are.
func withoutTarget(ctx context.Context, session *resources.Session, item *contract.Item, recorded *v1alpha2.ProviderStatus,
	groups []managedresource.DeletionGroupDefinition) (contract.Outcome, error) {
	inventory := inventoryOf(recorded)
	if isSearched(item.DeployItem, recorded) || !resources.Scatter(inventory, recorded.ManagedResources) {
		return contract.Outcome{}, missingTarget(item)
	}
	recorded.ManagedResources, recorded.Inventory = nil, inventory
	before := len(inventory.Sites)
	progress, err := resources.LeaveElsewhere(ctx, session, inventory, groups, nil)
	outcome := progress.Outcome()
	outcome.Done = err == nil && progress.Done()
	if !outcome.Done && len(inventory.Sites) < before {
		outcome.ProviderStatus, _ = v1alpha2.EncodeStatus(recorded)
	}
	return outcome, err
}

func missingTarget(item *contract.Item) error {
	problem := item.TargetProblem
	if problem == nil {
		problem = configurationProblem(errNoTarget)
	}
	return contract.CannotLook(item.DeployItem, problem)
}

// isSearched reports whether a job has to look through the target, because the record may not say what earlier ones have deployed there.
func isSearched(item *v1alpha1.DeployItem, recorded *v1alpha2.ProviderStatus) bool {
	return contract.HasLostRecord(item) || mayHaveLeftovers(recorded, item.Generation-1)
}

// isNothing reports whether nothing is recorded that a deletion has to remove.
func isNothing(recorded *v1alpha2.ProviderStatus) bool {
	return len(recorded.ManagedResources) == 0 && len(inventoryOf(recorded).Sites) == 0
}

// uninstall removes everything that jobs of the item put on the session's cluster, and then what they put on others. What is gone leaves the
// record.
func uninstall(ctx context.Context, session *resources.Session, item *contract.Item, recorded *v1alpha2.ProviderStatus,
	groups []managedresource.DeletionGroupDefinition) (resources.Progress, error) {
	search := isSearched(item.DeployItem, recorded)
	inventory := inventoryOf(recorded)
	known, err := resources.Settle(ctx, session, inventory, recorded.ManagedResources)
	if err != nil {
		return resources.Progress{}, contract.CannotLook(item.DeployItem, err)
	}
	known.Attempted = resources.Union(known.Attempted, inManifests(item.DeployItem))
	found, refusal, err := unrecorded(ctx, session, known, search)
	if err == nil && contract.HasLostRecord(item.DeployItem) {
		err = refusal
	}
	if err != nil {
		return resources.Progress{}, contract.CannotLook(item.DeployItem, fmt.Errorf("cannot look for objects of an earlier job: %w", err))
	}
	progress, err := resources.Delete(ctx, session, resources.Union(known.Recorded, found), groups)
	if err != nil || !progress.Done() {
		return progress, err
	}
	recorded.ManagedResources, recorded.Inventory = nil, inventory
	return resources.LeaveElsewhere(ctx, session, inventory, groups, nil)
}

// unrecorded returns the objects on the target that no job has confirmed, and a refusal where it was to search and may list nothing.
func unrecorded(
	ctx context.Context, session *resources.Session, known resources.KnownObjects, search bool,
) (found []managedresource.ManagedResourceStatus, refusal, err error) {
	attempted := slices.Concat(known.Attempted, known.Planned)
	found, err = resources.Confirm(ctx, session, attempted)
	if err != nil || !search {
		return found, nil, err
	}
	swept, refusal, err := resources.Search(ctx, session, resources.NamespacesOf(slices.Concat(known.Recorded, attempted)...)...)
	return resources.Union(found, swept), refusal, err
}

// inManifests returns the objects of the manifests of an item that has lost its record: they say where to look, and what to do before a deletion.
func inManifests(item *v1alpha1.DeployItem) []managedresource.ManagedResourceStatus {
	if !contract.HasLostRecord(item) {
		return nil
	}
	_, desired, err := expanded(item)
	if err != nil {
		return nil
	}
	return resources.Attempted(desired, nil)
}

// deletionGroups returns the deletion groups of the configuration. When they are broken they were never in force, and those of the last
// valid configuration count.
func deletionGroups(item *contract.Item, recorded *v1alpha2.ProviderStatus) ([]managedresource.DeletionGroupDefinition, error) {
	if item.DeployItem.Spec.Configuration == nil {
		return inventoryOf(recorded).DeletionGroups, nil
	}
	groups, err := v1alpha2.DecodeDeletionGroups(item.DeployItem.Spec.Configuration.Raw)
	switch {
	case err == nil:
		return groups, nil
	case recorded.Inventory != nil:
		return recorded.Inventory.DeletionGroups, nil
	}
	return nil, fmt.Errorf("spec.config: %w", err)
}
