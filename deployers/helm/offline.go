// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/charts"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// Renderer renders the charts of DeployItems as a job does, without their targets.
type Renderer struct{ deployer *deployer }

// NewRenderer returns a Renderer that gets charts by access.
func NewRenderer(access components.Access) (*Renderer, error) {
	e, err := engine.New(engine.Options{})
	if err != nil {
		return nil, err
	}
	found, err := charts.New(e, access)
	if err != nil {
		return nil, err
	}
	return &Renderer{&deployer{options: Options{Access: access}, engine: e, charts: found}}, nil
}

// Objects returns what the chart of an item, which needs its Context, renders to, with the namespace of the release where objects name none. Charts that look
// something up in their target are an error.
func (r *Renderer) Objects(ctx context.Context, item *contract.Item) ([]resources.Desired, error) {
	decoded, err := configuration(item.DeployItem)
	if err != nil {
		return nil, misconfigured(item, err)
	}
	j := &job{deployer: r.deployer, item: item, config: decoded, attempt: &attempt{}}
	if j.chart, _, err = r.deployer.charts.Find(ctx, item, &decoded.Chart); err != nil {
		return nil, err
	}
	if err := j.readValues(ctx); err != nil {
		return nil, err
	}
	request := j.rendering()
	request.SkipSchemaValidation = !decoded.IsHelmDeployment()
	rendering, err := r.deployer.engine.RenderAlone(ctx, request)
	if err != nil {
		return nil, helmProblem(err)
	}
	definitions, err := expand(rendering.CRDs, managedresource.KeepPolicy)
	if err != nil {
		return nil, err
	}
	objects, err := expand(rendering.Objects, managedresource.ManagePolicy)
	return append(definitions, objects...), err
}
