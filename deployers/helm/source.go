// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"bytes"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// SourcesOf returns the Flux source that the chart of an item comes from, if any. It only looks at the item.
func SourcesOf(item *v1alpha1.DeployItem) []v1alpha1.SourceReference {
	raw := item.Spec.Configuration
	if raw == nil || !bytes.Contains(raw.Raw, []byte(`"sourceRef"`)) {
		return nil
	}
	decoded, err := config.DecodeConfiguration(raw.Raw)
	if err != nil {
		return nil // the job of the configuration has failed with the error
	}
	chart := decoded.Chart
	if chart.SourceRef == nil || chart.Archive != nil || chart.Ref != "" || chart.HelmChartRepo != nil {
		return nil // see charts.Finder.Find
	}
	return []v1alpha1.SourceReference{*chart.SourceRef}
}

// awaitSource makes a job wait for the source whose change will end an error. Other errors stay as they are.
func (j *job) awaitSource(err error) (resources.Progress, error) {
	outcome, waits := j.options.AwaitSource(err)
	if !waits {
		return resources.Progress{}, err
	}
	j.attempt.sources = []v1alpha1.SourceStatus{}
	return resources.Progress{Reasons: []string{outcome.Waiting}, Watch: outcome.Watch}, nil
}
