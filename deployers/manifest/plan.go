// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	api "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/sites"
)

var _ contract.SiteKeeper = &Deployer{}

// Plan returns the provider status with the objects of the manifests as attempted. It returns nil where nothing new is attempted, where the
// configuration is broken, and where a job without a plan may have left objects that only a search on the target finds.
func (d *Deployer) Plan(item *v1alpha1.DeployItem, to managedresource.ClusterReference) *runtime.RawExtension {
	config, desired, err := expanded(item)
	if err != nil {
		return nil
	}
	recorded, err := status(item)
	if err != nil || to.Target == "" || mayHaveLeftovers(recorded, item.Generation-1) {
		return nil
	}
	recorded.Inventory = inventoryOf(recorded)
	recorded.Inventory.DeletionGroups = config.DeletionGroups
	return planned(item, recorded, to, desired)
}

// IsAt compares with the cluster of the inventory. A record without one tells nothing.
func (d *Deployer) IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool {
	recorded, err := status(item)
	return err == nil && sites.IsAt(recorded.Inventory, to)
}

// Sites returns what the inventory says.
func (d *Deployer) Sites(item *v1alpha1.DeployItem) ([]managedresource.Site, bool) {
	recorded, err := status(item)
	if err != nil || isSearched(item, recorded) {
		return nil, false
	}
	inventory := inventoryOf(recorded)
	isKnown := sites.Scatter(inventory, recorded.ManagedResources)
	return inventory.Sites, isKnown
}

// Close leaves out what the API server refused.
func (d *Deployer) Close(item *v1alpha1.DeployItem, status *runtime.RawExtension) *runtime.RawExtension {
	recorded, err := api.DecodeStatus(status.Raw)
	if err != nil || recorded.Inventory == nil || !sites.ForgetRefused(recorded.Inventory, item.Status.JobID) {
		return status
	}
	encoded, err := api.EncodeStatus(recorded)
	if err != nil {
		return status
	}
	return encoded
}

func planned(item *v1alpha1.DeployItem, recorded *v1alpha2.ProviderStatus, to managedresource.ClusterReference, desired []resources.Desired) *runtime.RawExtension {
	inventory := recorded.Inventory
	known := recorded.ManagedResources
	if inventory.Cluster != nil && !sites.SameCluster(*inventory.Cluster, to) {
		known = nil
	}
	attempted := sites.Attempted(desired, known)
	if len(attempted) == 0 {
		return nil
	}
	sites.AttemptBy(inventory, item.Status.JobID, to, attempted)
	encoded, err := api.EncodeStatus(recorded)
	if err != nil {
		return nil
	}
	return encoded
}

// inventoryOf returns the inventory of a status, an empty one when it has none.
func inventoryOf(recorded *v1alpha2.ProviderStatus) *managedresource.Inventory {
	if recorded.Inventory == nil {
		return &managedresource.Inventory{}
	}
	return recorded.Inventory
}

// mayHaveLeftovers reports whether a job of a generation up to last, whose plan was not recorded, may have deployed objects that the status
// does not record. Only statuses without inventory leave that open.
func mayHaveLeftovers(recorded *v1alpha2.ProviderStatus, last int64) bool {
	return recorded.Inventory == nil && recorded.RecordedGeneration > 0 && last > recorded.RecordedGeneration
}
