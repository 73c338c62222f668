// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// templateSteps are the phases of a job that applies the objects of a chart without a Helm release.
var templateSteps = []step{
	{"start reconcile", (*job).resolveChart},                     // release.go   chart source        → chart
	{"start progressing", (*job).readValues},                     // release.go   values              → map
	{"", (*job).exportValues},                                    // exports.go   values of the chart → exports
	{"start create manifests", (*job).renderObjects},             // template.go  chart + values      → objects
	{"start apply manifests", (*job).applyObjects},               // template.go  objects             → target
	{"", (*job).deleteOrphans},                                   // template.go  objects that left   → gone
	{"default readiness checks", (*job).checkDefaultReadiness},   // readiness.go objects             → ready or waiting
	{"custom readiness checks", (*job).checkCustomReadiness},     // readiness.go objects             → ready or waiting
	{"before reading export values", (*job).exportFromResources}, // exports.go   objects             → exports
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
		j.status.ManagedResources, j.status.Release = j.attempt.managed, nil
		return resources.Progress{}, nil
	}
	if j.config.CreateNamespace {
		if err := j.engine.EnsureNamespace(ctx, j.item.Target, j.config.Namespace); err != nil {
			return resources.Progress{}, helmProblem(err)
		}
	}
	known := j.status.ManagedResources
	applied, err := j.session().Apply(ctx, j.desired, resources.ApplyOptions{
		Strategy: j.config.UpdateStrategy, DefaultNamespace: j.config.Namespace, Known: known,
	})
	j.status.Release = nil
	j.status.ManagedResources = resources.Union(applied.Managed, known)
	if err != nil || !applied.Progress.Done() {
		return applied.Progress, err
	}
	j.applied, j.subjects = applied.Managed, applied.Subjects
	return resources.Progress{}, nil
}

// deleteOrphans removes the objects that earlier jobs applied and this one did not.
func (j *job) deleteOrphans(ctx context.Context) (resources.Progress, error) {
	if j.attempt.deployed {
		return resources.Progress{}, nil
	}
	orphans := resources.Orphans(j.status.ManagedResources, j.applied)
	progress, err := j.session().Delete(ctx, orphans, j.config.DeletionGroupsDuringUpdate)
	if err != nil || !progress.Done() {
		return progress, err
	}
	j.status.ManagedResources = j.applied
	j.attempt.deployed, j.attempt.managed = true, j.applied
	return resources.Progress{}, nil
}

// deleteObjects removes what the status records. Where no status was ever written, the process may have died right after it applied
// objects: then the target is searched for objects that carry the item's mark.
func (j *job) deleteObjects(ctx context.Context) (resources.Progress, error) {
	if err := j.item.Checkpoint("start deleting"); err != nil {
		return resources.Progress{}, err
	}
	managed := j.status.ManagedResources
	if j.item.DeployItem.Status.ProviderStatus == nil {
		var err error
		if managed, err = j.session().Sweep(ctx); err != nil {
			return resources.Progress{}, err
		}
	}
	return j.session().Delete(ctx, managed, j.config.DeletionGroups)
}
