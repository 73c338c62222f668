// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// chartLayers are the media types of charts in registries; the second is that of Helm's first attempts.
var chartLayers = []string{oci.HelmChartLayer, oci.HelmChartLayerLegacy}

// fromRegistry returns a chart of an OCI registry. The reference is resolved with the credentials of the item's Context at every job, so
// neither a moved tag nor a withdrawn permission is missed; the content is downloaded once.
func (d *deployer) fromRegistry(ctx context.Context, item *contract.Item, ref string) (*engine.Chart, error) {
	if d.options.Registries == nil {
		return nil, kit.Stall("GetChart", "NotSupported", "chart.ref: this deployer runs without access to registries; use chart.archive")
	}
	credentials, err := pullCredentials(item.Context)
	if err != nil {
		return nil, kit.Stall("GetChart", "InvalidCredentials", "Context: registryPullSecrets: %w", err)
	}
	blob, err := d.options.Registries.Pull(ctx, ref, oci.PullOptions{
		Credentials: credentials, LayerMediaTypes: chartLayers, MaxBytes: maxArchive,
	})
	if err != nil {
		return nil, registryProblem(err)
	}
	if cached, ok := d.engine.Cached(blob.Digest.String()); ok {
		return cached, nil
	}
	return d.load("chart.ref "+ref, blob.Bytes)
}

// registryProblem says who can end an error of a registry. What is not there may still be published.
func registryProblem(err error) error {
	switch {
	case errors.Is(err, oci.ErrUnauthorized):
		return kit.Coded(kit.Again("GetChart", "Unauthorized", "chart.ref: %w", err), v1alpha1.ErrorUnauthorized)
	case errors.Is(err, oci.ErrInvalid), errors.Is(err, oci.ErrTooLarge):
		return kit.Stall("GetChart", "InvalidChart", "chart.ref: %w", err)
	case errors.Is(err, oci.ErrNotFound):
		return kit.Again("GetChart", "ChartNotFound", "chart.ref: %w", err)
	}
	return kit.Again("GetChart", "DownloadFailed", "chart.ref: %w", err)
}

// pullCredentials returns the logins of the pull secrets in the order of the Context.
func pullCredentials(c *contract.Context) (oci.Credentials, error) {
	if c == nil {
		return oci.Credentials{}, nil
	}
	var all []oci.Credentials
	for _, reference := range c.Configuration.RegistryPullSecrets {
		found, err := oci.ParseSecret(reference.Name, c.PullSecrets[reference.Name])
		if err != nil {
			return oci.Credentials{}, err
		}
		all = append(all, found)
	}
	return oci.Join(all...), nil
}
