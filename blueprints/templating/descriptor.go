// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"fmt"
	"strings"
)

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
