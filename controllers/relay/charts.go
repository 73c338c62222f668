// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/charts"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

var errNoConfiguration = errors.New("is empty; it has to hold a ProviderConfiguration")

// ChartsOf returns the function that finds the charts of helm items as the helm deployer does. It does not look into them.
func ChartsOf(access components.Access) (func(context.Context, *contract.Item) (*Content, error), error) {
	passing, err := engine.New(engine.Options{Unread: true})
	if err != nil {
		return nil, err
	}
	finder, err := charts.New(passing, access)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, item *contract.Item) (*Content, error) { return chartOf(ctx, finder, item) }, nil
}

func chartOf(ctx context.Context, finder *charts.Finder, item *contract.Item) (*Content, error) {
	raw := item.DeployItem.Spec.Configuration
	if raw == nil {
		return nil, misconfigured(item, errNoConfiguration)
	}
	wanted, err := config.DecodeConfiguration(raw.Raw)
	if err == nil {
		err = config.Validate(wanted)
	}
	if err != nil {
		return nil, misconfigured(item, err)
	}
	chart, sources, err := finder.Find(ctx, item, &wanted.Chart)
	found := &Content{Sources: sources}
	if err != nil {
		return found, err
	}
	found.Digest = chart.Digest
	found.MediaType, found.Body, err = chart.Content()
	return found, err
}

func misconfigured(item *contract.Item, err error) error {
	return kit.Stall("ReadConfiguration", "InvalidConfiguration", "DeployItem %s/%s: spec.config: %w",
		item.DeployItem.Namespace, item.DeployItem.Name, err)
}
