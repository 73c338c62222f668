// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/readiness"
)

// releaseSteps are the phases of a job that makes a Helm release.
var releaseSteps = []step{
	{"helm deployer: start reconcile", (*job).resolveChart},    // release.go   chart source        → chart
	{"helm deployer: start progressing", (*job).readValues},    // values.go    values              → map
	{"", (*job).exportValues},                                  // exports.go   values of the chart → exports
	{"", (*job).settle},                                        // inventory.go status + target     → what is where
	{"", (*job).search},                                        // search.go    lost record         → what carries the marks
	{"", (*job).recordRelease},                                 // inventory.go release             → on record
	{"", (*job).retireOthers},                                  // leftovers.go releases of old     → gone
	{"helm deployer: start apply files", (*job).deployRelease}, // release.go   chart + values      → release
	{"", (*job).removeLeftovers},                               // leftovers.go what is not in it   → gone
	{"", (*job).leaveElsewhere},                                // inventory.go other clusters      → gone
}

// resolveChart gets the chart.
func (j *job) resolveChart(ctx context.Context) (resources.Progress, error) {
	chart, used, err := j.charts.Find(ctx, j.item, &j.config.Chart)
	if err == nil || len(used) > 0 {
		j.attempt.sources = append([]v1alpha1.SourceStatus{}, used...)
	}
	if len(used) > 0 && j.config.Chart.SourceRef != nil {
		j.source = &used[0]
	}
	j.chart = chart
	return j.awaitSource(err)
}

// deployRelease makes the revision of this job, once, unless what is deployed has been made from the same.
func (j *job) deployRelease(ctx context.Context) (resources.Progress, error) {
	settings, err := j.settings(upgradeSettings)
	if err != nil {
		return resources.Progress{}, err
	}
	labels, err := releaseLabels(j.item, content{chart: j.chart, values: j.values, applied: appliedOf(j.config, settings)})
	if err != nil {
		return resources.Progress{}, err
	}
	j.touched = true
	j.noteRelease()
	if err := j.adoptObjects(ctx); err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	if j.release, err = j.reach(ctx, labels); err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	if j.workloads, err = workloadsOf(j.release); err != nil {
		return resources.Progress{}, err
	}
	if j.attempt.unready, err = j.subjectsOf(j.release); err != nil {
		return resources.Progress{}, err
	}
	j.status.ObjectsDigest = ""
	j.status.Release = &helmv1alpha1.ReleaseStatus{
		Name: j.release.Name, Namespace: j.release.Namespace, Revision: j.release.Revision,
		ChartName: j.chart.Name, ChartVersion: j.chart.Version, ChartDigest: j.chart.Digest, Source: j.source,
		Inventory: inventoryFor(j.item.Target, j.release),
	}
	j.planTests()
	j.announceRelease(labels)
	return resources.Progress{}, nil
}

// workloadsOf returns the objects of a release that have a readiness rule of their own.
func workloadsOf(release *engine.Release) ([]managedresource.ManagedResourceStatus, error) {
	objects, err := objectsOf(release)
	return slices.DeleteFunc(objects, func(m managedresource.ManagedResourceStatus) bool {
		return !readiness.HasReadinessRule(m.Resource.APIVersion, m.Resource.Kind)
	}), err
}

// subjectsOf returns the objects of a release of which more is asked than that they exist.
func (j *job) subjectsOf(release *engine.Release) ([]readiness.Subject, error) {
	objects, err := objectsOf(release)
	if err != nil {
		return nil, err
	}
	asked, err := locate(j.item.Target, slices.DeleteFunc(objects, func(m managedresource.ManagedResourceStatus) bool {
		return !j.health.Asks(m.Resource.APIVersion, m.Resource.Kind)
	}))
	return subjectsOf(asked), err
}

// flatten returns the objects with those of Lists in their place.
func flatten(objects []map[string]any) []*unstructured.Unstructured {
	var flat []*unstructured.Unstructured
	for _, fields := range objects {
		object := &unstructured.Unstructured{Object: fields}
		if !object.IsList() {
			flat = append(flat, object)
			continue
		}
		items, _ := fields["items"].([]any)
		for _, item := range items {
			if inner, ok := item.(map[string]any); ok {
				flat = append(flat, flatten([]map[string]any{inner})...)
			}
		}
	}
	return flat
}

// helmProblem adds the codes that end a job at once: nothing but a person helps against values that the chart refuses, or against
// credentials that the target refuses.
func helmProblem(err error) error {
	switch {
	case errors.Is(err, engine.ErrSchema), errors.Is(err, engine.ErrChart), errors.Is(err, engine.ErrPostRender), errors.Is(err, engine.ErrUnaffordable):
		return kit.Coded(err, v1alpha1.ErrorConfigurationProblem)
	case isDenied(err):
		return kit.Coded(err, v1alpha1.ErrorUnauthorized)
	case errors.Is(err, engine.ErrNotRun):
		return kit.Again("RenderChart", "RenderProcessEnded", "%w", err)
	}
	return err
}

// isDenied reports whether the credentials of the target are at fault. Admission answers "forbidden" too, for terminating namespaces and
// exhausted quotas; that passes.
func isDenied(err error) bool {
	if apierrors.IsUnauthorized(err) {
		return true
	}
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`) && strings.Contains(err.Error(), `" cannot `)
}
