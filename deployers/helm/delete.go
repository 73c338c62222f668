// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// deleteSteps are the phases of a deletion. Both look at what the status records, because the mode may have changed between jobs.
var deleteSteps = []step{
	{"helm deployer: start delete", (*job).uninstall},
	{"helm deployer: start deleting", (*job).deleteObjects},
}

// Delete uninstalls the release, and deletes the objects that were applied without one. It needs no chart and no valid configuration.
func (d *deployer) Delete(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	j, err := d.beginDelete(item)
	if err != nil {
		return contract.Outcome{}, err
	}
	if item.Target == nil {
		if j.status.Release == nil && len(j.status.ManagedResources) == 0 {
			return contract.Outcome{Done: true}, nil
		}
		return contract.Outcome{}, misconfigured(item, errNoTarget)
	}
	outcome, err := j.walk(ctx, deleteSteps)
	outcome.ProviderStatus = nil // what was recorded stays recorded until the item is gone
	return outcome, err
}

func (d *deployer) beginDelete(item *contract.Item) (*job, error) {
	status, err := config.DecodeStatus(providerStatus(item.DeployItem))
	if err != nil {
		return nil, misconfigured(item, fmt.Errorf("status.providerStatus: %w", err))
	}
	decoded, err := configuration(item)
	if err != nil {
		decoded = &helmv1alpha1.ProviderConfiguration{}
	}
	return &job{deployer: d, item: item, config: decoded, status: status, attempt: &attempt{}}, nil
}

// uninstall removes the release that the status records. Where nothing is recorded, because the process died right after the install or
// the item never got that far, the release is only removed if it carries the item's label.
func (j *job) uninstall(ctx context.Context) (resources.Progress, error) {
	namespace, name, err := j.releaseToRemove(ctx)
	if err != nil || name == "" {
		return resources.Progress{}, helmProblem(err)
	}
	if err := j.item.Checkpoint("helm deployer: before deleting release"); err != nil {
		return resources.Progress{}, err
	}
	flags, err := j.flags(uninstallSettings)
	if err != nil {
		return resources.Progress{}, err
	}
	return resources.Progress{}, helmProblem(j.engine.Uninstall(ctx, j.item.Target, namespace, name, flags))
}

func (j *job) releaseToRemove(ctx context.Context) (namespace, name string, err error) {
	if recorded := j.status.Release; recorded != nil {
		return recorded.Namespace, recorded.Name, nil
	}
	if !j.config.IsHelmDeployment() || j.config.Name == "" || j.config.Namespace == "" {
		return "", "", nil
	}
	if j.item.DeployItem.Status.ProviderStatus != nil {
		// Written by the existing system, which records no release.
		return j.config.Namespace, j.config.Name, nil
	}
	last, err := j.engine.Last(ctx, j.item.Target, j.config.Namespace, j.config.Name)
	if err != nil || last == nil || last.Labels[ownerLabel] != labelValue(string(j.item.DeployItem.UID)) {
		return "", "", err
	}
	return last.Namespace, last.Name, nil
}

// deleteObjects removes the objects that were applied without a release. Those of a release are recorded for readiness only.
func (j *job) deleteObjects(ctx context.Context) (resources.Progress, error) {
	if j.config.IsHelmDeployment() && (j.status.Release != nil || j.status.RecordedGeneration == 0) {
		return resources.Progress{}, nil
	}
	// The request to delete raised the generation by one.
	managed, err := j.known(ctx, j.item.DeployItem.Generation-1)
	if err != nil {
		return resources.Progress{}, err
	}
	return j.session().Delete(ctx, managed, j.config.DeletionGroups)
}
