// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/apply"
)

var _ contract.DriftDetector = &Deployer{}

// DriftDetection returns the field driftDetection of the configuration.
func (d *Deployer) DriftDetection(item *v1alpha1.DeployItem) (*managedresource.DriftDetection, error) {
	return contract.DriftModeIn(item.Spec.Configuration)
}

// Deployed returns the managed resources.
func (d *Deployer) Deployed(item *v1alpha1.DeployItem) (contract.Deployed, error) {
	recorded, err := status(item)
	if err != nil {
		return contract.Deployed{}, err
	}
	return contract.Deployed{
		Selector: v1alpha1.ManifestDeployItemLabel, Managers: []string{resources.FieldManager}, Objects: resources.References(recorded.ManagedResources),
	}, nil
}

// FindDrift compares the manifests with the target.
func (d *Deployer) FindDrift(ctx context.Context, item *contract.Item, search contract.DriftSearch) ([]contract.Drift, error) {
	config, desired, err := expanded(item.DeployItem)
	if err != nil {
		return nil, err
	}
	options := apply.DriftOptions{DriftSearch: search, Strategy: config.UpdateStrategy}
	if config.DriftDetection != nil {
		options.Ignore = config.DriftDetection.Ignore
	}
	return apply.FindDrift(ctx, resources.NewSession(item, nil), desired, options)
}
