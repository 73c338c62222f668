// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	gotemplate "text/template"

	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// components answers questions about the component descriptors among the bindings.
type components struct {
	ctx     context.Context
	values  map[string]any
	reader  ResourceReader
	closure *Closure
}

func componentsOf(ctx context.Context, in Input) components {
	return components{ctx: ctx, values: in.Values, reader: in.Resources, closure: in.Closure}
}

func (r *goRun) componentFunctions() gotemplate.FuncMap {
	c := componentsOf(r.ctx, r.in)
	return gotemplate.FuncMap{
		"getResource":          c.resource,
		"getResources":         c.resources,
		"getComponent":         c.component,
		"getRepositoryContext": repositoryContext,
		"getResourceKey":       func(ref any) (string, error) { return c.resourceKey(ref) },
		"getResourceContent":   func(ref any) (string, error) { return c.contentText(ref) },
	}
}

// resource returns the first resource whose identity has all the given pairs. The arguments are an optional component descriptor
// and then keys and values by turns.
func (c components) resource(args ...any) (map[string]any, error) {
	found, err := c.resources(args...)
	if err != nil {
		return nil, err
	}
	return found[0].(map[string]any), nil
}

func (c components) resources(args ...any) ([]any, error) {
	d, wanted, err := c.selection(args)
	if err != nil {
		return nil, err
	}
	found := d.matching(d.resources(), wanted)
	if len(found) == 0 {
		return nil, fmt.Errorf("no resource of component %s has the identity %v; it has: %s", d.title(), wanted, d.names(d.resources()))
	}
	return found, nil
}

// component returns the component descriptor behind a component reference, chosen by the reference's identity.
func (c components) component(args ...any) (map[string]any, error) {
	d, wanted, err := c.selection(args)
	if err != nil {
		return nil, err
	}
	found := d.matching(d.references(), wanted)
	if len(found) == 0 {
		return nil, fmt.Errorf("no component reference of component %s has the identity %v; it has: %s", d.title(), wanted,
			d.names(d.references()))
	}
	next, err := c.follow(found[0].(map[string]any))
	return next, err
}

// follow finds the descriptor that a component reference is about among the bindings.
func (c components) follow(reference map[string]any) (descriptor, error) {
	name, version := c.closure.follow(str(reference["componentName"]), str(reference["version"]))
	for _, item := range c.all() {
		if d, ok := item.(map[string]any); ok && descriptor(d).name() == name && descriptor(d).version() == version {
			return d, nil
		}
	}
	return nil, fmt.Errorf("component %s:%s, which a component reference names, is not among the components", name, version)
}

// all returns the descriptors of the binding components, which is a list, or an object with a list.
func (c components) all() []any {
	if list, ok := c.values["components"].([]any); ok {
		return list
	}
	return items(object(c.values["components"])["components"])
}

func (c components) own() (descriptor, error) {
	d, ok := c.values["cd"].(map[string]any)
	if !ok {
		return nil, errors.New("there is no component descriptor; give the installation a componentDescriptor")
	}
	return d, nil
}

// selection takes the arguments apart.
func (c components) selection(args []any) (descriptor, map[string]string, error) {
	var d descriptor
	var err error
	if given, ok := first(args).(map[string]any); ok {
		d, args = given, args[1:]
	} else if d, err = c.own(); err != nil {
		return nil, nil, err
	}
	if len(args) == 0 || len(args)%2 != 0 {
		return nil, nil, errors.New("keys and values are needed by turns, for example \"name\" \"my-resource\"")
	}
	wanted := map[string]string{}
	for i := 0; i < len(args); i += 2 {
		wanted[fmt.Sprint(args[i])] = fmt.Sprint(args[i+1])
	}
	return d, wanted, nil
}

func first(args []any) any {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

// resourceKey returns base64 of YAML that names a resource by component name, version and identity. It carries the digest of the resource,
// if there is one, so that whoever looks the component up again notices another descriptor.
func (c components) resourceKey(ref any) (string, error) {
	d, resource, err := c.locate(ref)
	if err != nil {
		return "", err
	}
	text := map[string]any{
		"component": map[string]string{"name": d.name(), "version": d.version()},
		"resource":  identity(resource),
	}
	if digest := digestOf(resource); digest.Covered() {
		text["digest"] = digest
	}
	if repository := c.repository(d); repository != nil {
		text["repositoryContext"] = repository
	}
	out, err := yaml.Marshal(text)
	return base64.StdEncoding.EncodeToString(out), err
}

// digestOf returns the digest of the content of a resource, nil when it has none.
func digestOf(resource map[string]any) *component.DigestSpec {
	fields := object(resource["digest"])
	if fields == nil {
		return nil
	}
	return &component.DigestSpec{
		HashAlgorithm: str(fields["hashAlgorithm"]), NormalisationAlgorithm: str(fields["normalisationAlgorithm"]), Value: str(fields["value"]),
	}
}

// repository returns where a component is, nil when that is the default repository.
func (c components) repository(d descriptor) map[string]any {
	if c.closure == nil {
		return nil
	}
	return c.closure.Repositories[ComponentKey(d.name(), d.version())]
}

// content returns the content of a resource.
func (c components) content(ref any) (Content, error) {
	d, resource, err := c.locate(ref)
	if err != nil {
		return Content{}, err
	}
	if c.reader == nil {
		return Content{}, errors.New("contents of resources cannot be read here: this function is not available here")
	}
	return c.reader.ResourceContent(c.ctx, ResourceKey{ComponentName: d.name(), ComponentVersion: d.version(), Identity: identity(resource)})
}

func (c components) contentText(ref any) (string, error) {
	content, err := c.content(ref)
	if content.MediaType == "application/octet-stream" {
		return base64.StdEncoding.EncodeToString(content.Data), err
	}
	return string(content.Data), err
}

// locate walks from the own component along the references to the resource and returns it with its component.
func (c components) locate(ref any) (descriptor, map[string]any, error) {
	relative, err := component.ParseReference(ref)
	if err != nil {
		return nil, nil, err
	}
	d, err := c.own()
	if err != nil {
		return nil, nil, err
	}
	for _, step := range relative.Path {
		if d, err = c.component(selector(d, step)...); err != nil {
			return nil, nil, err
		}
	}
	resource, err := c.resource(selector(d, relative.Resource)...)
	return d, resource, err
}

// selector makes the arguments of resource and component.
func selector(d descriptor, wanted map[string]string) []any {
	args := []any{map[string]any(d)}
	for key, value := range wanted {
		args = append(args, key, value)
	}
	return args
}
