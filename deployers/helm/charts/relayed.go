// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
)

// operation is that of all failures here.
const operation = "GetChart"

// fromRelay returns the chart as the content relay finds it now. What the engine has of an earlier job is not sent again.
func (f *Finder) fromRelay(ctx context.Context, item *contract.Item) (*engine.Chart, []v1alpha1.SourceStatus, error) {
	const field = "chart, by the content relay"
	known := ""
	if last, ok := f.relayed.Get(item.DeployItem.UID); ok && f.engine.IsCached(item.DeployItem.Namespace, last.(string)) {
		known = last.(string)
	}
	asked := relay.For(relay.KindChart, item.DeployItem)
	found, err := f.access.Relay.Get(ctx, operation, asked, known, f.reserve(field))
	if err != nil {
		return nil, nil, err
	}
	if found.Body == nil && known != "" {
		if cached, err := f.cached(ctx, item, field, known); cached != nil || err != nil {
			return cached, found.Sources, err
		}
		// The cache has let it go while the relay was asked.
		if found, err = f.access.Relay.Get(ctx, operation, asked, "", f.reserve(field)); err != nil {
			return nil, nil, err
		}
	}
	chart, err := f.engine.Receive(ctx, item.DeployItem.Namespace, found.MediaType, found.Body)
	if err != nil {
		return nil, found.Sources, badChart(field, err)
	}
	if chart.Digest != found.Digest {
		return nil, found.Sources, kit.Again(operation, "DigestMismatch", "%s: what came has the digest %s and not %s; it is asked for again",
			field, chart.Digest, found.Digest)
	}
	f.relayed.Add(item.DeployItem.UID, chart.Digest)
	return chart, found.Sources, nil
}
