// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	api "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// remove carries out the deletion of an item. It needs the status and the deletion groups; the rest of the configuration may be
// broken.
func (d *Deployer) remove(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	if err := item.Checkpoint("manifest deployer: start delete"); err != nil {
		return contract.Outcome{}, err
	}
	recorded, err := status(item.DeployItem)
	if err != nil {
		return contract.Outcome{}, err
	}
	if item.Target == nil {
		return withoutTarget(recorded)
	}
	session := resources.NewSession(item, d.memory, nil)
	managed, err := deployed(ctx, session, item, recorded)
	if err != nil || len(managed) == 0 {
		return contract.Outcome{Done: err == nil}, err
	}
	groups, err := deletionGroups(item)
	if err != nil {
		return contract.Outcome{}, configurationProblem(err)
	}
	progress, err := session.Delete(ctx, managed, groups)
	if err != nil || !progress.Done() {
		return progress.Outcome(), err
	}
	return contract.Outcome{Done: true}, nil
}

// withoutTarget ends the deletion of an item that names no target: nothing can have been deployed unless it is recorded.
func withoutTarget(recorded *v1alpha2.ProviderStatus) (contract.Outcome, error) {
	if len(recorded.ManagedResources) > 0 {
		return contract.Outcome{}, configurationProblem(errNoTarget)
	}
	return contract.Outcome{Done: true}, nil
}

// deployed returns what jobs of the item put on the target. The deletion request raised the generation by one, so the last
// manifests are those of the generation before.
func deployed(ctx context.Context, session *resources.Session, item *contract.Item, recorded *v1alpha2.ProviderStatus) ([]managedresource.ManagedResourceStatus, error) {
	last := item.DeployItem.Generation - 1
	if !mayHaveLeftovers(item.DeployItem, recorded, last) {
		return recorded.ManagedResources, nil
	}
	var found []managedresource.ManagedResourceStatus
	var err error
	if mayHaveLeftovers(item.DeployItem, recorded, last-1) {
		found, err = session.Sweep(ctx)
	} else {
		found, err = session.Recorded(ctx, lastManifests(item), "")
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	return resources.Union(recorded.ManagedResources, found), nil
}

// lastManifests returns the objects of the configuration, none when it is broken: then it was never deployed.
func lastManifests(item *contract.Item) []resources.Desired {
	config, err := configuration(item.DeployItem)
	if err != nil {
		return nil
	}
	desired, err := resources.Expand(config.Manifests)
	if err != nil {
		return nil
	}
	return desired
}

func deletionGroups(item *contract.Item) ([]managedresource.DeletionGroupDefinition, error) {
	if item.DeployItem.Spec.Configuration == nil {
		return nil, nil
	}
	groups, err := api.DecodeDeletionGroups(item.DeployItem.Spec.Configuration.Raw)
	if err != nil {
		return nil, fmt.Errorf("spec.config: %w", err)
	}
	return groups, nil
}
