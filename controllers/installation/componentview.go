// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/template"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

// maxResourceContent is how large content may be that templates and schemas read.
const maxResourceContent = 4 << 20

// jsonSchemaType is the type of resources that are JSON schemas; early ones have no group.
const jsonSchemaType = "landscaper.gardener.cloud/jsonschema"

// componentView is what templates and schemas see of a component.
type componentView struct {
	*resolvedComponent
	// reading counts what is being read.
	reading atomic.Int32

	mu      sync.Mutex
	problem error
}

// showComponent adds the component to what templates and schemas see.
func showComponent(env *render.Environment, found *resolvedComponent) (*componentView, error) {
	if found == nil {
		return nil, nil
	}
	shape := env.Blueprint.Annotations[model.SchemaVersionAnnotation]
	switch shape {
	case "":
		shape = found.root.Descriptor.Schema
	case component.SchemaV2, component.SchemaV3:
	default:
		return nil, kit.Stall(renderOperation, "InvalidBlueprint", "blueprint: annotation %s: %q is no schema of component descriptors; use %s or %s",
			model.SchemaVersionAnnotation, shape, component.SchemaV2, component.SchemaV3)
	}
	view := &componentView{resolvedComponent: found}
	definition, err := jsonLike(found.root.Definition)
	if err != nil {
		return nil, fmt.Errorf("spec.componentDescriptor: %w", err)
	}
	env.ComponentDescriptor, env.Components = found.root.Descriptor.View(shape), found.closed.ViewAll(shape)
	if found.verified != "" {
		component.PinImages(env.ComponentDescriptor, env.Components)
	}
	env.ComponentDescriptorDefinition, env.Resources, env.Closure = definition, view, view
	env.Schemas = env.Schemas.With(view.schema)
	return view, nil
}

// Follow implements template.Closure.
func (v *componentView) Follow(name, version string) (string, string) {
	found, err := v.closed.Follow(&component.Reference{Element: component.Element{Version: version}, ComponentName: name})
	if err != nil {
		return name, version
	}
	return found.Name, found.Version
}

// Repository implements template.Closure.
func (v *componentView) Repository(name, version string) map[string]any {
	key := component.Key{Name: name, Version: version}
	where := v.session.RepositoryOf(key)
	if v.root.Definition.Inline != nil && where.Equal(v.root.Repository) && v.written(key) {
		return inlineRepository(v.closed.Find(key))
	}
	if where.IsZero() || where.Equal(v.standard) {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal(where.Raw, &fields) != nil {
		return nil
	}
	return fields
}

// written tells whether a component is written into the Installation, as its descriptor or inside it.
func (v *componentView) written(key component.Key) bool {
	if key == v.root.Descriptor.Key() {
		return true
	}
	return slices.ContainsFunc(v.closed.Descriptors, func(d *component.Descriptor) bool {
		return slices.ContainsFunc(d.References, func(reference component.Reference) bool {
			embedded, err := reference.Embedded()
			return err == nil && embedded != nil && embedded.Key() == key
		})
	})
}

// inlineRepository is a repository with one component in it, written in place.
func inlineRepository(d *component.Descriptor) map[string]any {
	if d == nil {
		return nil
	}
	text, err := d.Encode(d.Schema)
	if err != nil {
		return nil
	}
	return map[string]any{"type": "inline", "fileSystem": map[string]any{component.DescriptorFile: string(text)}}
}

// ResourceContent implements template.ResourceReader.
func (v *componentView) ResourceContent(ctx context.Context, key template.ResourceKey) ([]byte, string, error) {
	d := v.closed.Find(component.Key{Name: key.ComponentName, Version: key.ComponentVersion})
	if d == nil {
		return nil, "", fmt.Errorf("component %s:%s is not among the components of the installation", key.ComponentName, key.ComponentVersion)
	}
	resource, err := d.FindResource(key.Identity)
	if err != nil {
		return nil, "", err
	}
	return v.read(ctx, d, resource)
}

// read returns the content of a resource and remembers why it could not: templates and schemas keep no more than the text of an error.
func (v *componentView) read(ctx context.Context, d *component.Descriptor, resource *component.Resource) ([]byte, string, error) {
	v.reading.Add(1)
	defer v.reading.Add(-1)
	blob, err := v.session.Content(ctx, d, resource)
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.problem = err
		return nil, "", err
	}
	defer func() { _ = blob.Close() }()
	content, err := blob.ReadAll(maxResourceContent)
	return content, blob.MediaType, err
}

// schema returns the JSON schema that a cd:// URI leads to.
func (v *componentView) schema(ctx context.Context, uri string) ([]byte, error) {
	reference, err := component.ParseReference(uri)
	if err != nil {
		return nil, err
	}
	d, resource, err := v.closed.Locate(v.root.Descriptor, reference)
	if err != nil {
		return nil, err
	}
	if resource.Type != jsonSchemaType && !strings.EqualFold(resource.Type, "jsonschema") {
		return nil, fmt.Errorf("resource %q of component %s is of type %s; it must be of type %s", resource.Name, d.Key(), resource.Type, jsonSchemaType)
	}
	content, _, err := v.read(ctx, d, resource)
	if err != nil {
		return nil, err
	}
	if content, err = unzipped(content); err != nil {
		return nil, fmt.Errorf("resource %q of component %s: %w", resource.Name, d.Key(), err)
	}
	document, err := foreign.ToJSON(content)
	if err != nil {
		return nil, fmt.Errorf("resource %q of component %s %w", resource.Name, d.Key(), err)
	}
	return document, nil
}

// unzipped returns content without the compression that it may have.
func unzipped(content []byte) ([]byte, error) {
	if !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
		return content, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return nil, errors.New("its compression cannot be read")
	}
	plain, err := io.ReadAll(io.LimitReader(reader, maxResourceContent+1))
	if err != nil || len(plain) > maxResourceContent {
		return nil, fmt.Errorf("its compression cannot be read, or it has more than %d bytes", maxResourceContent)
	}
	return plain, nil
}

// failure says who can end a failure of rendering: what was wrong with the content that was read decides, if there was anything.
func (v *componentView) failure(ctx context.Context, operation string, err error) error {
	if err == nil {
		return nil
	}
	if again := notRendered(ctx, operation, err); again != nil {
		return again
	}
	failure := renderFailure(operation, err)
	if v == nil {
		return failure
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reading.Load() == 0 && errors.Is(v.problem, oci.ErrUnauthorized) {
		reason, codes := repositoryReason(v.problem)
		return &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: reason, Codes: codes, Err: err}
	}
	if v.reading.Load() == 0 && (v.problem == nil || repository.KindOf(v.problem) == repository.Stalled) {
		return failure
	}
	return kit.Again(operation, "ContentNotRead", "%w", err)
}
