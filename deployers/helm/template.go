// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// templateSteps are the phases of a job that applies the objects of a chart without a Helm release.
var templateSteps = []step{
	{"helm deployer: start reconcile", (*job).resolveChart},                     // release.go   chart source        → chart
	{"helm deployer: start progressing", (*job).readValues},                     // release.go   values              → map
	{"", (*job).exportValues},                                                   // exports.go   values of the chart → exports
	{"helm deployer: start create manifests", (*job).renderObjects},             // template.go  chart + values      → objects
	{"helm deployer: start apply manifests", (*job).applyObjects},               // template.go  objects             → target
	{"", (*job).deleteOrphans},                                                  // template.go  objects that left   → gone
	{"helm deployer: default readiness checks", (*job).checkDefaultReadiness},   // readiness.go objects             → ready or waiting
	{"helm deployer: custom readiness checks", (*job).checkCustomReadiness},     // readiness.go objects             → ready or waiting
	{"helm deployer: before reading export values", (*job).exportFromResources}, // exports.go   objects             → exports
}

// renderObjects renders the chart: definitions first, every object with policy manage.
func (j *job) renderObjects(ctx context.Context) (resources.Progress, error) {
	if j.attempt.deployed {
		return resources.Progress{}, nil
	}
	rendering, err := j.engine.Render(ctx, engine.Request{
		Cluster: j.item.Target, Namespace: j.config.Namespace, Name: j.config.Name, Chart: j.chart, Values: j.values,
		// Without a release Helm never validated the values; charts in use may depend on that.
		Flags: engine.Flags{SkipSchemaValidation: true},
	})
	if err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	var manifests []managedresource.Manifest
	for _, object := range append(rendering.CRDs, rendering.Objects...) {
		raw, err := json.Marshal(object)
		if err != nil {
			return resources.Progress{}, err
		}
		manifests = append(manifests, managedresource.Manifest{
			Policy: managedresource.ManagePolicy, Manifest: &runtime.RawExtension{Raw: raw},
		})
	}
	j.desired, err = resources.Expand(manifests)
	return resources.Progress{}, err
}

// applyObjects brings the objects to the target. What was handled is recorded also when some fail.
func (j *job) applyObjects(ctx context.Context) (resources.Progress, error) {
	if j.attempt.deployed {
		j.restore()
		return resources.Progress{}, nil
	}
	if j.config.CreateNamespace {
		// A namespace made here is never updated or deleted, so it is not recorded.
		if err := j.engine.EnsureNamespace(ctx, j.item.Target, j.config.Namespace); err != nil {
			return resources.Progress{}, helmProblem(err)
		}
	}
	known, err := j.known(ctx, j.item.DeployItem.Generation-1)
	if err != nil {
		return resources.Progress{}, err
	}
	j.applied, err = j.session().Apply(ctx, j.desired, resources.ApplyOptions{
		Strategy: j.config.UpdateStrategy, DefaultNamespace: j.config.Namespace, Known: known,
	})
	j.status.ManagedResources = resources.Union(j.applied.Managed, known)
	j.status.RecordedGeneration = j.item.DeployItem.Generation
	return j.applied.Progress, err
}

// known returns the objects that earlier jobs applied: those recorded and, where a job of a generation up to last may have died before it
// recorded anything, those that carry the item's mark on the target.
func (j *job) known(ctx context.Context, last int64) ([]managedresource.ManagedResourceStatus, error) {
	recorded := j.status.ManagedResources
	isForeign := j.status.RecordedGeneration == 0 && j.item.DeployItem.Status.ProviderStatus != nil
	if isForeign || last <= j.status.RecordedGeneration {
		return recorded, nil
	}
	found, err := j.session().Sweep(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	return resources.Union(recorded, found), nil
}

// deleteOrphans removes the objects that earlier jobs applied and this one did not.
func (j *job) deleteOrphans(ctx context.Context) (resources.Progress, error) {
	if j.attempt.deployed {
		return resources.Progress{}, nil
	}
	orphans := resources.Orphans(j.status.ManagedResources, j.applied.Managed)
	progress, err := j.session().Delete(ctx, orphans, j.config.DeletionGroupsDuringUpdate)
	if err != nil || !progress.Done() {
		return progress, err
	}
	j.status.ManagedResources = j.applied.Managed
	j.attempt.reached(j.status, j.applied.Subjects)
	return resources.Progress{}, nil
}
