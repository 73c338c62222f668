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

// templateSteps are the steps of a job that applies the objects of a chart without a Helm release.
var templateSteps = []step{
	{"helm deployer: start reconcile", (*job).resolveChart},         // release.go   chart source        → chart
	{"helm deployer: start progressing", (*job).readValues},         // values.go    values              → map
	{"", (*job).exportValues},                                       // observe.go   values of the chart → exports
	{"", (*job).settle},                                             // inventory.go status + target     → what is where
	{"", (*job).search},                                             // inventory.go lost record         → what carries the marks
	{"helm deployer: start create manifests", (*job).renderObjects}, // template.go  chart + values      → objects
	{"", (*job).recordObjects},                                      // inventory.go objects             → on record
	{"helm deployer: start apply manifests", (*job).applyObjects},   // template.go  objects             → target
	{"", (*job).deleteOrphans},                                      // template.go  objects that left   → gone
	{"", (*job).leaveReleases},                                      // leftovers.go releases            → gone
	{"", (*job).leaveElsewhere},                                     // inventory.go other clusters      → gone
}

// renderObjects renders the chart, definitions first. As with a release, the definitions of its crds directory and what says so by
// helm.sh/resource-policy are never deleted; all other objects have policy manage.
func (j *job) renderObjects(ctx context.Context) error {
	request := j.rendering()
	request.SkipSchemaValidation = true // without a release Helm never validated the values; charts in use may depend on that
	rendering, err := j.engine.Render(ctx, request)
	if err != nil {
		return helmProblem(err)
	}
	definitions, err := expand(rendering.CRDs, managedresource.KeepPolicy)
	if err != nil {
		return err
	}
	objects, err := expand(rendering.Objects, managedresource.ManagePolicy)
	j.desired = append(definitions, objects...)
	return err
}

// rendering is what the engine needs to render the chart.
func (j *job) rendering() engine.Request {
	return engine.Request{
		Owner: j.item.DeployItem.Namespace, Cluster: j.item.Target, Namespace: j.config.Namespace, Name: j.config.Name,
		Chart: j.chart, Values: j.values, Secrets: j.secrets, Metadata: j.config.CommonMetadata, PostRenderers: j.config.PostRenderers,
	}
}

// expand returns what is desired of rendered objects; Lists stand for their items.
func expand(objects []map[string]any, policy managedresource.ManifestPolicy) ([]resources.Desired, error) {
	var manifests []managedresource.Manifest
	for _, object := range objects {
		raw, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		manifests = append(manifests, managedresource.Manifest{Policy: policy, Manifest: &runtime.RawExtension{Raw: raw}})
	}
	desired, err := resources.Expand(manifests)
	for i := range desired {
		if engine.IsKept(desired[i].Object.GetAnnotations()) {
			desired[i].Policy = managedresource.KeepPolicy
		}
	}
	return desired, err
}

// applyObjects brings the objects to the target. What was handled is recorded also when some fail.
func (j *job) applyObjects(ctx context.Context) error {
	j.touched = true
	if j.config.CreateNamespace {
		// A namespace made here is never updated or deleted, so it is not recorded.
		if err := j.engine.EnsureNamespace(ctx, j.item.Target, j.config.Namespace); err != nil {
			return helmProblem(err)
		}
	}
	last := j.status.ObjectsDigest
	j.status.ObjectsDigest = digestOf(j.desired, false)
	j.rendered.Add(j.item.DeployItem.UID, digestOf(j.desired, true))
	if j.status.ObjectsDigest != last {
		j.attempt.made = eventOf(j.chart, j.source, reasonApplied, fmt.Sprintf("Helm objects applied for %s/%s", j.config.Namespace, j.config.Name))
	}
	j.session().WarnOfDeletion(j.desired, j.known.Recorded, "its chart renders none with these values")
	var err error
	j.applied, err = resources.Apply(ctx, j.session(), j.desired, resources.ApplyOptions{
		Strategy: j.config.UpdateStrategy, OnConflict: j.config.OnConflict, OnImmutable: j.config.OnImmutable,
		DefaultNamespace: j.config.Namespace, Memory: j.memory, Known: j.known.Recorded,
	})
	j.known.Recorded = resources.Union(j.applied.Managed, j.known.Recorded)
	j.known.Attempt(j.applied.Refused)
	return until(j.applied.Progress, refusal(err))
}

// deleteOrphans removes the objects that earlier jobs applied and this one did not.
func (j *job) deleteOrphans(ctx context.Context) error {
	found, err := resources.Confirm(ctx, j.session(), resources.Orphans(j.known.Attempted, j.applied.Managed))
	if err != nil {
		return err
	}
	j.known.Recorded = resources.Union(j.known.Recorded, found)
	orphans := resources.Orphans(j.known.Recorded, j.applied.Managed)
	if err := until(resources.Delete(ctx, j.session(), orphans, j.config.DeletionGroupsDuringUpdate)); err != nil {
		return err
	}
	j.known.Recorded, j.known.Planned = j.applied.Managed, nil
	j.attempt.unready = j.applied.Subjects
	return nil
}
