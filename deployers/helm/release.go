// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// releaseSteps are the steps of a job that makes a Helm release.
var releaseSteps = []step{
	{"helm deployer: start reconcile", (*job).resolveChart},    // release.go   chart source        → chart
	{"helm deployer: start progressing", (*job).readValues},    // values.go    values              → map
	{"", (*job).exportValues},                                  // observe.go   values of the chart → exports
	{"", (*job).settle},                                        // inventory.go status + target     → what is where
	{"", (*job).search},                                        // inventory.go lost record         → what carries the marks
	{"", (*job).recordRelease},                                 // inventory.go release             → on record
	{"", (*job).retireOthers},                                  // leftovers.go releases of old     → gone
	{"helm deployer: start apply files", (*job).deployRelease}, // release.go   chart + values      → release
	{"", (*job).removeLeftovers},                               // leftovers.go what is not in it   → gone
	{"", (*job).leaveElsewhere},                                // inventory.go other clusters      → gone
}

// Reasons of the events about what jobs have made, as helm-controller has them.
const (
	reasonInstalled = "InstallSucceeded"
	reasonUpgraded  = "UpgradeSucceeded"
	reasonApplied   = "ApplySucceeded"
)

// reasonValuesRemoved is the reason of the event about an upgrade to no values.
const reasonValuesRemoved = "ValuesRemoved"

// resolveChart gets the chart, or waits for the source whose change will bring it.
func (j *job) resolveChart(ctx context.Context) error {
	chart, used, err := j.charts.Find(ctx, j.item, &j.config.Chart)
	if err == nil || len(used) > 0 {
		j.attempt.sources = append([]v1alpha1.SourceStatus{}, used...)
	}
	if len(used) > 0 && j.config.Chart.SourceRef != nil {
		j.source = &used[0]
	}
	j.chart = chart
	outcome, waits := j.options.AwaitSource(err)
	if !waits {
		return err
	}
	j.attempt.sources = []v1alpha1.SourceStatus{}
	return until(resources.Progress{Reasons: []string{outcome.Waiting}, Watch: outcome.Watch}, nil)
}

// deployRelease makes the revision of this job, once, unless what is deployed has been made from the same.
func (j *job) deployRelease(ctx context.Context) error {
	settings, err := j.settings(helmv1alpha1.ActionUpgrade)
	if err != nil {
		return err
	}
	if j.labels, err = releaseLabels(j.item, content{chart: j.chart, values: j.values, applied: appliedOf(j.config, settings)}); err != nil {
		return err
	}
	j.touched = true
	j.noteRelease()
	if err := j.adopt(ctx); err != nil {
		return helmProblem(err)
	}
	if j.release, err = j.reach(ctx); err != nil {
		return helmProblem(err)
	}
	if j.workloads, err = workloadsOf(j.release); err != nil {
		return err
	}
	if j.attempt.unready, err = subjectsOf(ctx, j.item.Target, j.health, j.release); err != nil {
		return err
	}
	j.status.ObjectsDigest = ""
	j.status.Release = &helmv1alpha1.ReleaseStatus{
		Name: j.release.Name, Namespace: j.release.Namespace, Revision: j.release.Revision,
		ChartName: j.chart.Name, ChartVersion: j.chart.Version, ChartDigest: j.chart.Digest, Source: j.source,
		Inventory: inventoryFor(ctx, j.item.Target, j.release),
	}
	j.planTests()
	j.announceRelease()
	return nil
}

// workloadsOf returns the objects of a release that have a readiness rule of their own.
func workloadsOf(release *engine.Release) ([]managedresource.ManagedResourceStatus, error) {
	objects, err := release.Objects()
	return slices.DeleteFunc(objects, func(m managedresource.ManagedResourceStatus) bool {
		return !resources.HasReadinessRule(m.Resource.APIVersion, m.Resource.Kind)
	}), err
}

// subjectsOf returns the objects of a release of which more is asked than that they exist. A Job that goes by itself may be gone by now.
func subjectsOf(ctx context.Context, cluster *target.Cluster, health resources.Health, release *engine.Release) ([]resources.Subject, error) {
	objects, err := release.Objects()
	if err != nil {
		return nil, err
	}
	asked, err := locate(ctx, cluster, slices.DeleteFunc(objects, func(m managedresource.ManagedResourceStatus) bool {
		return !health.Asks(m.Resource.APIVersion, m.Resource.Kind)
	}))
	if err != nil || len(asked) == 0 {
		return nil, err
	}
	parsed, err := engine.ParseManifest(release.Manifest)
	subjects := make([]resources.Subject, len(asked))
	for i := range asked {
		subjects[i].Resource = asked[i].Resource
	}
	for _, object := range slices.DeleteFunc(engine.Flat(parsed), func(o *unstructured.Unstructured) bool { return !resources.GoesByItself(o) }) {
		for i := range subjects {
			ref := subjects[i].Resource
			subjects[i].GoesByItself = subjects[i].GoesByItself || ref.Kind == object.GetKind() && ref.Name == object.GetName() &&
				ref.Namespace == cmp.Or(object.GetNamespace(), release.Namespace)
		}
	}
	return subjects, err
}

// helmProblem adds the codes that end a job at once: nothing but a person helps against values that the chart refuses, or against
// credentials that the target refuses.
func helmProblem(err error) error {
	isPermanent := slices.ContainsFunc(permanent, func(known error) bool { return errors.Is(err, known) })
	// Admission answers "forbidden" too, for terminating namespaces and exhausted quotas; that passes.
	isDenied := apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`) && strings.Contains(err.Error(), `" cannot `)
	switch {
	case isPermanent:
		return protocol.Coded(err, v1alpha1.ErrorConfigurationProblem)
	case isDenied:
		return protocol.Coded(err, v1alpha1.ErrorUnauthorized)
	case errors.Is(err, engine.ErrNotRun):
		return protocol.Again("RenderChart", "RenderProcessEnded", "%w", err)
	}
	return err
}

// permanent are the errors that the same chart and values can only repeat.
var permanent = []error{
	engine.ErrSchema, engine.ErrChart, engine.ErrRender, engine.ErrPostRender, engine.ErrUnaffordable, engine.ErrUnserved,
}

// refusal adds the code that ends a job at once to what the API server refuses however often it is asked: what is invalid, and what is too large. A port or
// an address that is taken may become free.
func refusal(err error) error {
	if err == nil || strings.Contains(err.Error(), "already allocated") {
		return err
	}
	isMalformed := apierrors.IsBadRequest(err) && strings.Contains(err.Error(), " cannot be handled as a ")
	if !isMalformed && !protocol.IsRefusedForGood(err) {
		return err
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && strings.HasPrefix(status.Status().Details.Name, engine.RecordPrefix) {
		err = fmt.Errorf("%w: the record of the release, with the files of the chart and all that it renders to, is too large for the API server; make the chart "+
			"smaller, or set helmDeployment to false, which keeps no record", err)
	}
	return protocol.Coded(err, v1alpha1.ErrorConfigurationProblem)
}

// announceRelease prepares the event about the revision that the job has made. There is none where an earlier job made it.
func (j *job) announceRelease() {
	if !sameJob(j.release, j.labels) {
		return
	}
	action, reason := helmv1alpha1.ActionUpgrade, reasonUpgraded
	if made, _ := attemptIn(j.release); made == helmv1alpha1.ActionInstall {
		action, reason = made, reasonInstalled
	}
	j.attempt.made = eventOf(j.chart, j.source, reason, fmt.Sprintf("Helm %s succeeded for release %s/%s.v%d", action, j.release.Namespace, j.release.Name, j.release.Revision))
}

// eventOf tells of the chart, and of the source that it came from. The revision is that of the source, which commit statuses name, else the version of
// the chart.
func eventOf(chart *engine.Chart, source *v1alpha1.SourceStatus, reason, done string) *contract.Event {
	made := &contract.Event{Reason: reason, Message: fmt.Sprintf("%s with chart %s@%s", done, chart.Name, chart.Version), Revision: chart.Version}
	if source != nil {
		made.Message += fmt.Sprintf(" of %s %s/%s at %s", source.Kind, source.Namespace, source.Name, source.Revision)
		made.Revision = cmp.Or(source.Revision, made.Revision)
	}
	return made
}

// SourcesOf returns the Flux source that the chart of an item comes from, if any. It only looks at the item.
func SourcesOf(item *v1alpha1.DeployItem) []v1alpha1.SourceReference {
	raw := item.Spec.Configuration
	if raw == nil || !bytes.Contains(raw.Raw, []byte(`"sourceRef"`)) {
		return nil
	}
	var decoded struct {
		Chart helmv1alpha1.Chart `json:"chart"`
	}
	if kjson.UnmarshalCaseSensitivePreserveInts(raw.Raw, &decoded) != nil {
		return nil // the job of the configuration has failed with the error; to find out why takes long, and the caches of all namespaces wait
	}
	chart := decoded.Chart
	if chart.SourceRef == nil || chart.Archive != nil || chart.Ref != "" || chart.HelmChartRepo != nil {
		return nil // see charts.Finder.Find
	}
	return []v1alpha1.SourceReference{*chart.SourceRef}
}
