// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest is the deployer of DeployItems of type landscaper.gardener.cloud/kubernetes-manifest (spec/deployers.md §8):
// it applies objects to a target, removes those that left the manifests, waits until they are ready and exports fields of them.
//
// Every step is derived from what is observed on the target, so a call that follows the death of the process does what is left:
//
//   - An object that was created but not recorded exists when the next call creates it; the call reads it and follows policy and
//     strategy, which for an object in its wanted state writes nothing.
//   - An object that was created but not recorded, and left the manifests before the job ran again, stands in the inventory: the write
//     that picks a job up records what the job sets out to apply, and on which Target. It is looked for and deleted when it carries label and
//     UID of the DeployItem. Statuses without inventory only say up to which generation they are complete; where one in between may have
//     been deployed, all kinds of the target are searched.
//   - An object on another cluster, because the DeployItem names another Target or the Target leads elsewhere, stands in the inventory too.
//     It is uninstalled by the Target that led there; what cannot be reached is reported and stays recorded.
//   - An object that was deleted but is still recorded is not found, which is what the deletion wants. It promises nothing to others.
package manifest

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	api "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// Name is what the deployer writes to status.deployer.name.
const Name = "manifest.deployer.landscaper.gardener.cloud"

// Deployer carries out DeployItems of type landscaper.gardener.cloud/kubernetes-manifest.
type Deployer struct {
	memory *resources.Memory
}

var _ contract.ContinuousReconciler = &Deployer{}

// New returns the manifest deployer.
func New() *Deployer {
	return &Deployer{memory: resources.NewMemory(0)}
}

// Name returns the name of the deployer.
func (d *Deployer) Name() string { return Name }

// ContinuousReconcile returns the field continuousReconcile of the configuration.
func (d *Deployer) ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	return contract.ContinuousReconcileIn(item.Spec.Configuration)
}

// Type returns the type of its DeployItems.
func (d *Deployer) Type() string { return v1alpha1.ManifestDeployItemType }

// Ensure applies the manifests and finishes the job when they are ready and exported.
func (d *Deployer) Ensure(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	r, err := d.begin(item)
	if err != nil {
		return contract.Outcome{Untouched: true}, err
	}
	return r.ensure(ctx)
}

// Delete removes the managed objects from the target.
func (d *Deployer) Delete(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	return d.remove(ctx, item)
}

const (
	// jobKey is where contract.Item.Memory holds the progress of a job.
	jobKey = "manifest.job"
	// departureKey is where it holds how often the job has tried to leave other clusters.
	departureKey = "manifest.departure"
)

// job is what a waiting job has reached: its objects are applied and its orphans are gone. Losing it only costs reads.
type job struct {
	generation int64
	// recorded is the provider status, warning what cannot be uninstalled elsewhere.
	recorded *runtime.RawExtension
	warning  string
	managed  []managedresource.ManagedResourceStatus
	unready  []resources.Subject
}

// forgetFailedRuns takes from the record that a Job has run when that is what failed.
func (j *job) forgetFailedRuns(cause error) error {
	recorded, err := api.DecodeStatus(j.recorded.Raw)
	if err != nil {
		return err
	}
	resources.ForgetFailedRuns(recorded.ManagedResources, j.unready, cause)
	j.recorded, err = api.EncodeStatus(recorded)
	return err
}

// remembered returns the progress of the item's job, nil when there is none.
func remembered(item *contract.Item) *job {
	j, found := item.Memory[jobKey].(*job)
	if !found || j.generation != item.DeployItem.Generation {
		return nil
	}
	return j
}

// remember notes the progress of the item's job for its next call.
func remember(item *contract.Item, reached *job) {
	if item.Memory != nil {
		item.Memory[jobKey] = reached
	}
}

// departure returns how often the item's job has tried to leave other clusters.
func departure(item *contract.Item) *resources.Departure {
	if known, found := item.Memory[departureKey].(*resources.Departure); found {
		return known
	}
	fresh := &resources.Departure{}
	if item.Memory != nil {
		item.Memory[departureKey] = fresh
	}
	return fresh
}

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
	options := resources.DriftOptions{DriftSearch: search, Strategy: config.UpdateStrategy}
	if config.DriftDetection != nil {
		options.Ignore = config.DriftDetection.Ignore
	}
	return resources.FindDrift(ctx, resources.NewSession(item, nil), desired, options)
}

var _ contract.Rehearser = &Deployer{}

// Rehearse compares the manifests and what earlier jobs have recorded with the target.
func (d *Deployer) Rehearse(ctx context.Context, item *contract.Item) ([]contract.Change, error) {
	r, err := d.begin(item)
	if err != nil {
		return nil, err
	}
	return resources.Rehearse(ctx, r.session, r.desired, r.recorded.ManagedResources, resources.DriftOptions{Strategy: r.config.UpdateStrategy, OnImmutable: r.config.OnImmutable})
}
