// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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
		err := document.Decode(from.Ref.RawMessage, wanted.definition.Reference)
		if into := wanted.definition.Reference; err == nil && (into.ComponentName == "" || into.Version == "") {
			err = errors.New("names no component; set componentName and version")
		}
		if err != nil {
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
	var secrets map[string]map[string][]byte
	if item.Context != nil {
		secrets = item.Context.PullSecrets
	}
	scope, err := f.access.Scope(ctx, item, secrets, "GetChart", "Context")
	if err == nil && overwritten && item.Context != nil && item.Context.Overwrites != nil {
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

// resourceKey names a resource of a component, as the template function getResourceKey writes it.
type resourceKey struct {
	Component struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"component"`
	// Resource is its identity: the name, and what else distinguishes it.
	Resource map[string]string `json:"resource"`
	// Digest of the resource in the descriptor that the template saw, which the controller has verified if that was asked for; nil in keys of
	// resources without one.
	Digest *component.DigestSpec `json:"digest"`
	// RepositoryContext is where the component is; nil means in the repository of the Context.
	RepositoryContext *v1alpha1.AnyJSON `json:"repositoryContext"`
}

var errResourceKey = errors.New("is not a key of a resource; set it to the result of the template function getResourceKey")

// parseResourceKey reads base64 of YAML.
func parseResourceKey(encoded string) (*resourceKey, error) {
	text, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, errResourceKey
	}
	raw, err := foreign.ToJSON(text)
	if err != nil {
		return nil, errResourceKey
	}
	key := &resourceKey{}
	if document.Decode(raw, key) != nil || key.Component.Name == "" || key.Component.Version == "" || key.Resource["name"] == "" {
		return nil, errResourceKey
	}
	return key, nil
}

// definition is the component that the key names. One that was written into the Installation is in the key: then its local blobs are looked
// for as they were for the Installation.
func (k *resourceKey) definition() v1alpha1.ComponentDescriptorDefinition {
	if written := k.written(); written != nil {
		return v1alpha1.ComponentDescriptorDefinition{Inline: written}
	}
	return v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{
		RepositoryContext: k.RepositoryContext, ComponentName: k.Component.Name, Version: k.Component.Version,
	}}
}

// find returns the resource in a descriptor, with the digest of the key for its content. The error is of type *replacedError if the
// descriptor has another one.
func (k *resourceKey) find(d *component.Descriptor) (*component.Resource, error) {
	found, err := d.FindResource(k.Resource)
	if err != nil || !k.Digest.Covered() {
		return found, err
	}
	now := found.Digest
	if now != nil && (now.HashAlgorithm != k.Digest.HashAlgorithm || now.NormalisationAlgorithm != k.Digest.NormalisationAlgorithm ||
		!strings.EqualFold(now.Value, k.Digest.Value)) {
		return nil, &replacedError{component: d.Key(), resource: found.Name, now: *found.Digest, then: *k.Digest}
	}
	bound := *found
	bound.Digest = k.Digest
	return &bound, nil
}

// replacedError says that a component version is not the one any more that a key was made from.
type replacedError struct {
	component component.Key
	resource  string
	// now and then are the digests of the resource in the descriptor found and in the one that the key was made from.
	now, then component.DigestSpec
}

// Error names resource, both digests and what to do.
func (e *replacedError) Error() string {
	return fmt.Sprintf("resource %q of component %s has the digest %s (%s) in the component descriptor that is published now, but the deploy item "+
		"was made from one with the digest %s (%s); find out who replaced the component version, publish a new version of it, and let the "+
		"installation run again", e.resource, e.component, e.now.Value, e.now.HashAlgorithm, e.then.Value, e.then.HashAlgorithm)
}

// written returns the descriptor in the key, nil if there is none: it is the only file of a repository of type inline.
func (k *resourceKey) written() *v1alpha1.AnyJSON {
	if k.RepositoryContext == nil {
		return nil
	}
	var fields map[string]json.RawMessage
	var kind string
	var files map[string]string
	if document.Decode(k.RepositoryContext.RawMessage, &fields) != nil || len(fields) != 2 ||
		document.Decode(fields["type"], &kind) != nil || kind != "inline" ||
		document.Decode(fields["fileSystem"], &files) != nil || len(files) != 1 {
		return nil
	}
	text := []byte(files[component.DescriptorFile])
	if d, err := component.Decode(text); err != nil || d.Name != k.Component.Name || d.Version != k.Component.Version {
		return nil
	}
	written := v1alpha1.NewAnyJSON(text)
	return &written
}
