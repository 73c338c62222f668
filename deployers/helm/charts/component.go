// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"errors"
	"fmt"

	"github.com/opencontainers/go-digest"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// wantedResource is a chart that is a resource of a component.
type wantedResource struct {
	// field of the DeployItem that names it, for messages.
	field string
	// definition of the component.
	definition v1alpha1.ComponentDescriptorDefinition
	// overwritten says that the overwrites of the Context apply to the definition. What a template got from getResourceKey is what they
	// led to.
	overwritten bool
	find        func(*component.Descriptor) (*component.Resource, error)
}

// fromKey returns the chart of chart.resourceRef.
func (f *Finder) fromKey(ctx context.Context, item *contract.Item, encoded string) (*engine.Chart, []v1alpha1.SourceStatus, error) {
	const field = "chart.resourceRef"
	key, err := parseResourceKey(encoded)
	if err != nil {
		return nil, nil, protocol.Stall("GetChart", "InvalidResourceKey", "%s: %w", field, err)
	}
	return f.fromResource(ctx, item, wantedResource{field: field, definition: key.definition(), find: key.find})
}

// fromOldResource returns the chart of chart.fromResource: the resource of a name among those that are charts.
func (f *Finder) fromOldResource(ctx context.Context, item *contract.Item, from *helmv1alpha1.RemoteChartReference) (*engine.Chart, []v1alpha1.SourceStatus, error) {
	wanted := wantedResource{field: "chart.fromResource", overwritten: true}
	wanted.definition.Inline = from.Inline
	if from.Ref != nil {
		wanted.definition.Reference = &v1alpha1.ComponentDescriptorReference{}
		if err := decodeReference(from.Ref, wanted.definition.Reference); err != nil {
			return nil, nil, protocol.Stall("GetChart", "InvalidResource", "%s.ref: %w", wanted.field, err)
		}
	}
	wanted.find = func(descriptor *component.Descriptor) (*component.Resource, error) {
		return findChart(descriptor, from.ResourceName)
	}
	return f.fromResource(ctx, item, wanted)
}

// fromResource finds component and resource with the rights of the item's Context, at every job. It returns what it has used of Flux sources, too.
func (f *Finder) fromResource(ctx context.Context, item *contract.Item, wanted wantedResource) (*engine.Chart, []v1alpha1.SourceStatus, error) {
	if f.components == nil {
		return nil, nil, protocol.Stall("GetChart", "NotSupported", "%s: this deployer runs without component repositories; use chart.ref", wanted.field)
	}
	scope, err := f.scopeOf(ctx, item, wanted.overwritten)
	if err != nil {
		return nil, nil, err
	}
	session := f.components.Open(scope)
	chart, err := f.fromComponent(ctx, item, session, wanted)
	if _, ok := errors.AsType[*replacedError](err); ok {
		// What is remembered here may be older than what the key was made from.
		session = f.uncached.Open(scope)
		chart, err = f.fromComponent(ctx, item, session, wanted)
	}
	return chart, session.SourcesUsed(), err
}

// fromComponent finds component and resource in a session, which it closes.
func (f *Finder) fromComponent(
	ctx context.Context, item *contract.Item, session *repository.Session, wanted wantedResource,
) (*engine.Chart, error) {
	defer session.Close()
	root, err := session.Root(ctx, wanted.definition)
	if err != nil {
		return nil, problem(wanted.field+": ", invalidComponent, err)
	}
	resource, err := wanted.find(root.Descriptor)
	if err != nil {
		return nil, problem(wanted.field+": ", invalidComponent, err)
	}
	found, err := session.Chart(ctx, root.Descriptor, resource)
	if err != nil {
		return nil, problem(wanted.field+": ", invalidComponent, err)
	}
	field := fmt.Sprintf("%s (resource %q of component %s)", wanted.field, resource.Name, root.Descriptor.Key())
	return f.fromAccess(ctx, item, field, found)
}

// scopeOf is what an item may use of component repositories.
func (f *Finder) scopeOf(ctx context.Context, item *contract.Item, overwritten bool) (repository.Scope, error) {
	scope := repository.Scope{Namespace: item.DeployItem.Namespace, RequireVerified: components.RequiresVerified(item)}
	if item.Context == nil {
		return scope, nil
	}
	var err error
	scope.Repository = item.Context.Configuration.RepositoryContext
	if scope.Rights, err = repository.ParseRights(item.Context.PullSecrets, item.Context.OCMConfig); err != nil {
		return scope, badCredentials(err)
	}
	identity, err := f.access.Identity(ctx, item, "GetChart")
	if err != nil {
		return scope, err
	}
	if identity != nil {
		scope.Rights = scope.Rights.WithIdentity(identity)
	}
	if overwritten && item.Context.Overwrites != nil {
		scope.Overwrites, err = item.Context.Overwrites(ctx)
	}
	return scope, err
}

// fromAccess gets a chart from where the access of its resource leads. Its digest is compared before it is used.
func (f *Finder) fromAccess(ctx context.Context, item *contract.Item, field string, found *repository.Chart) (*engine.Chart, error) {
	switch {
	case found.OCI != "":
		return f.pull(ctx, item, field, found.OCI, found.Digest)
	case found.Repository != "":
		chart, err := f.fromRepository(ctx, item, &helmv1alpha1.HelmChartRepo{
			HelmChartRepoUrl: found.Repository, HelmChartName: found.Name, HelmChartVersion: found.Version,
		}, found.Digest)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field, err)
		}
		return chart, nil
	}
	defer found.Content.Close()
	if cached := f.engine.Cached(found.Content.Digest.String()); cached != nil {
		return cached, nil
	}
	archive, err := found.Content.ReadAll(maxArchive)
	if err != nil {
		return nil, problem(field+": ", invalidComponent, err)
	}
	return f.load(ctx, item, field, archive)
}

// chartTypes are the types of resources that are charts.
var chartTypes = map[string]bool{"helmChart": true, "helm.io/chart": true, "helm": true}

func findChart(d *component.Descriptor, name string) (*component.Resource, error) {
	for i := range d.Resources {
		if d.Resources[i].Name == name && chartTypes[d.Resources[i].Type] {
			return &d.Resources[i], nil
		}
	}
	return nil, fmt.Errorf("component %s has no resource %q of type helmChart; correct resourceName, or publish the chart: %w",
		d.Key(), name, component.ErrNotFound)
}

// mismatch is the error about a chart other than the one that was published with the component.
func mismatch(field string, got string, want digest.Digest) error {
	return protocol.Stall("GetChart", "DigestMismatch",
		"%s: the chart has the digest %s and not %s as the component descriptor says; publish the component version anew", field, got, want)
}
