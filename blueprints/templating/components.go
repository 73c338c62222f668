// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
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
		"getResources":         c.resources,
		"getRepositoryContext": repositoryContext,
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

// descriptor is a component descriptor as templates see it: schema v2, or v3alpha1 (then it has a spec).
type descriptor map[string]any

func (d descriptor) isV3() bool { return d["spec"] != nil }

// header is where name and version are.
func (d descriptor) header() map[string]any {
	if d.isV3() {
		return object(d["metadata"])
	}
	return object(d["component"])
}

func (d descriptor) name() string    { return str(d.header()["name"]) }
func (d descriptor) version() string { return str(d.header()["version"]) }
func (d descriptor) title() string   { return d.name() + ":" + d.version() }

// resources have the same shape in both schemas.
func (d descriptor) resources() []any {
	if d.isV3() {
		return items(object(d["spec"])["resources"])
	}
	return items(object(d["component"])["resources"])
}

func (d descriptor) references() []any {
	if d.isV3() {
		return items(object(d["spec"])["references"])
	}
	return items(object(d["component"])["componentReferences"])
}

func (d descriptor) repositoryContexts() []any {
	if d.isV3() {
		return items(d["repositoryContexts"])
	}
	return items(object(d["component"])["repositoryContexts"])
}

// matching returns the elements whose identity has all wanted pairs.
func (d descriptor) matching(elements []any, wanted map[string]string) []any {
	var out []any
	for _, element := range elements {
		if e, ok := element.(map[string]any); ok && contains(identity(e), wanted) {
			out = append(out, copyMap(e))
		}
	}
	return out
}

// names lists elements for error messages.
func (d descriptor) names(elements []any) string {
	var out []string
	for i, element := range elements {
		if i == 20 {
			out = append(out, "…")
			break
		}
		out = append(out, str(object(element)["name"]))
	}
	return strings.Join(out, ", ")
}

// identity is the name and the extra identity; the version is no part of it.
func identity(element map[string]any) map[string]string {
	out := map[string]string{}
	for key, value := range object(element["extraIdentity"]) {
		out[key] = fmt.Sprint(value)
	}
	out["name"] = str(element["name"])
	return out
}

func contains(identity, wanted map[string]string) bool {
	for key, value := range wanted {
		if found, ok := identity[key]; !ok || found != value {
			return false
		}
	}
	return true
}

// repositoryContext returns the last repository context, which is the effective one.
func repositoryContext(cd map[string]any) (map[string]any, error) {
	contexts := descriptor(cd).repositoryContexts()
	if len(contexts) == 0 {
		return nil, fmt.Errorf("component %s has no repository context", descriptor(cd).title())
	}
	return copyMap(object(contexts[len(contexts)-1])), nil
}

func object(v any) map[string]any {
	out, _ := v.(map[string]any)
	return out
}

func items(v any) []any {
	out, _ := v.([]any)
	return out
}

func str(v any) string {
	out, _ := v.(string)
	return out
}
