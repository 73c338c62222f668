// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"

	"github.com/opencontainers/go-digest"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/content"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/charts"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
)

var errNoConfiguration = errors.New("is empty; it has to hold a ProviderConfiguration")

// Finders returns those for all kinds of content. They find it as the deployers do, and do not look into it.
func Finders(access components.Access) (map[relay.Kind]Finder, error) {
	passing, err := engine.New(engine.Options{Unread: true, Room: roomForFiles})
	if err != nil {
		return nil, err
	}
	foundCharts, err := charts.New(passing, access)
	if err != nil {
		return nil, err
	}
	foundContent, err := content.New(access)
	if err != nil {
		return nil, err
	}
	return map[relay.Kind]Finder{
		relay.KindChart: func(ctx context.Context, item *contract.Item) (*Content, error) {
			return chartOf(ctx, foundCharts, item)
		},
		relay.KindContent: func(ctx context.Context, item *contract.Item) (*Content, error) {
			return contentOf(ctx, foundContent, item)
		},
	}, nil
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

func contentOf(ctx context.Context, finder *content.Finder, item *contract.Item) (*Content, error) {
	wanted, err := content.Configuration(item.DeployItem)
	if err != nil {
		return nil, err
	}
	packed, sources, err := finder.Find(ctx, item, wanted)
	return &Content{MediaType: content.MediaType, Digest: digest.FromBytes(packed).String(), Body: packed, Sources: sources}, err
}

func misconfigured(item *contract.Item, err error) error {
	return kit.Stall("ReadConfiguration", "InvalidConfiguration", "DeployItem %s/%s: spec.config: %w",
		item.DeployItem.Namespace, item.DeployItem.Name, err)
}
