// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

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

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// maxResourceContent is how large content may be that templates and schemas read.
const maxResourceContent = 4 << 20

// jsonSchemaType is the type of resources that are JSON schemas; early ones have no group.
const jsonSchemaType = "landscaper.gardener.cloud/jsonschema"

// Component is the component of an Installation with all that it refers to.
type Component struct {
	Root    *Root
	Closed  *component.Closed
	Session *Session
	// Standard is the default repository; zero when there is none.
	Standard component.Typed
	// Pinned says that images are shown by the digests that a signature covers.
	Pinned bool
}

// View is what templates and schemas see of a component. It is safe for concurrent use.
type View struct {
	Component
	mu      sync.Mutex
	problem error
}

// Show adds a component to what the templates and schemas of env see. It fails when the blueprint asks for a form of
// component descriptors that does not exist.
func Show(env *render.Environment, found Component) (*View, error) {
	shape := env.Blueprint.Annotations[model.SchemaVersionAnnotation]
	switch shape {
	case "":
		shape = found.Root.Descriptor.Schema
	case component.SchemaV2, component.SchemaV3:
	default:
		return nil, fmt.Errorf("blueprint: annotation %s: %q is not a schema of component descriptors; use %s or %s",
			model.SchemaVersionAnnotation, shape, component.SchemaV2, component.SchemaV3)
	}
	view := &View{Component: found}
	raw, err := json.Marshal(found.Root.Definition)
	if err != nil {
		return nil, fmt.Errorf("spec.componentDescriptor: %w", err)
	}
	if err := foreign.DecodeJSON(raw, &env.ComponentDescriptorDefinition); err != nil {
		return nil, fmt.Errorf("spec.componentDescriptor %w", err)
	}
	env.ComponentDescriptor, env.Components = found.Root.Descriptor.View(shape), found.Closed.ViewAll(shape)
	if found.Pinned {
		component.PinImages(env.ComponentDescriptor, env.Components)
	}
	env.Resources, env.Closure = view, view.closure()
	env.Schemas = env.Schemas.With(view.schema)
	return view, nil
}

// Problem returns the last error of reading content, of which templates and schemas keep no more than the text. A nil View has none.
func (v *View) Problem() error {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.problem
}

// closure says where references lead, and where components are, as far as that is not what is written.
func (v *View) closure() *templating.Closure {
	out := &templating.Closure{Followed: map[string][2]string{}, Repositories: map[string]map[string]any{}}
	for _, d := range v.Closed.Descriptors {
		if where := v.repository(d.Key()); where != nil {
			out.Repositories[templating.ComponentKey(d.Name, d.Version)] = where
		}
		for i := range d.References {
			named := d.References[i].Key()
			if found, err := v.Closed.Follow(&d.References[i]); err == nil && found.Key() != named {
				out.Followed[templating.ComponentKey(named.Name, named.Version)] = [2]string{found.Name, found.Version}
			}
		}
	}
	return out
}

// repository returns the typed repository that a component is in, nil when that is the default repository of the Context.
func (v *View) repository(key component.Key) map[string]any {
	where := v.Session.RepositoryOf(key)
	if v.Root.Definition.Inline != nil && where.Equal(v.Root.Repository) && v.written(key) {
		return inlineRepository(v.Closed.Find(key))
	}
	if where.IsZero() || where.Equal(v.Standard) {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal(where.Raw, &fields) != nil {
		return nil
	}
	return fields
}

// written reports whether a component is written into the Installation, as its descriptor or inside it.
func (v *View) written(key component.Key) bool {
	if key == v.Root.Descriptor.Key() {
		return true
	}
	return slices.ContainsFunc(v.Closed.Descriptors, func(d *component.Descriptor) bool {
		return slices.ContainsFunc(d.References, func(reference component.Reference) bool {
			if reference.Key() != key {
				return false
			}
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

// ResourceContent implements templating.ResourceReader.
func (v *View) ResourceContent(ctx context.Context, key templating.ResourceKey) (templating.Content, error) {
	d := v.Closed.Find(component.Key{Name: key.ComponentName, Version: key.ComponentVersion})
	if d == nil {
		return templating.Content{}, fmt.Errorf("component %s:%s is not among the components of the installation", key.ComponentName, key.ComponentVersion)
	}
	resource, err := d.FindResource(key.Identity)
	if err != nil {
		return templating.Content{}, err
	}
	return v.read(ctx, d, resource)
}

// read returns the content of a resource and remembers why it could not: templates and schemas keep no more than the text of an error.
func (v *View) read(ctx context.Context, d *component.Descriptor, resource *component.Resource) (templating.Content, error) {
	blob, err := v.Session.Content(ctx, d, resource)
	if err != nil {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.problem = err
		return templating.Content{}, err
	}
	defer func() { _ = blob.Close() }()
	data, err := blob.ReadAll(maxResourceContent)
	return templating.Content{Data: data, MediaType: blob.MediaType}, err
}

// schema returns the JSON schema that a cd:// URI leads to.
func (v *View) schema(ctx context.Context, uri string) ([]byte, error) {
	reference, err := component.ParseReference(uri)
	if err != nil {
		return nil, err
	}
	d, resource, err := v.Closed.Locate(v.Root.Descriptor, reference)
	if err != nil {
		return nil, err
	}
	if resource.Type != jsonSchemaType && !strings.EqualFold(resource.Type, "jsonschema") {
		return nil, fmt.Errorf("resource %q of component %s is of type %s; it must be of type %s", resource.Name, d.Key(), resource.Type, jsonSchemaType)
	}
	read, err := v.read(ctx, d, resource)
	if err != nil {
		return nil, err
	}
	content, err := unzipped(read.Data)
	if err != nil {
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
