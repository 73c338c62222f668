// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// crdGroupKind is the kind that defines kinds.
var crdGroupKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// errUnanswered is inside the error of a target that cannot be asked for its kinds.
var errUnanswered = errors.New("cannot learn the kinds of target")

// resourceKind is how the API server serves a kind.
type resourceKind struct {
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// lookup asks the target how it serves a kind. The error of an unknown kind satisfies isNoMatch.
func lookup(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (resourceKind, error) {
	mapping, err := cluster.MapperFor(ctx).RESTMapping(gvk.GroupKind(), gvk.Version)
	if isNoMatch(err) {
		return resourceKind{}, unknownKind(cluster.Name, gvk.GroupVersion().String(), gvk.Kind, err)
	}
	if err != nil {
		return resourceKind{}, fmt.Errorf("%w %s: %w", errUnanswered, cluster.Name, err)
	}
	return resourceKind{GVR: mapping.Resource, Namespaced: mapping.Scope.Name() == "namespace"}, nil
}

// kindNamed returns the kind that a deletion group names, by kind or by plural resource name. Names that the target does not
// know are returned as they are.
func kindNamed(ctx context.Context, cluster *target.Cluster, apiVersion, name string) (schema.GroupVersionKind, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, misconfigured("apiVersion %q is malformed: %w", apiVersion, err)
	}
	if name != "" && (name[0] < 'a' || name[0] > 'z') {
		return gv.WithKind(name), nil
	}
	gvk, err := cluster.MapperFor(ctx).KindFor(gv.WithResource(name))
	if isNoMatch(err) {
		return gv.WithKind(name), nil
	}
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%w %s: %w", errUnanswered, cluster.Name, err)
	}
	return gvk, nil
}

// definedKinds returns the kinds that the CustomResourceDefinitions among the objects define.
func definedKinds(desired []Desired) map[schema.GroupVersionKind]resourceKind {
	kinds := map[schema.GroupVersionKind]resourceKind{}
	for _, d := range desired {
		if isCRD(d.Object) && d.Policy != managedresource.IgnorePolicy {
			addDefinedKinds(kinds, d.Object)
		}
	}
	return kinds
}

func addDefinedKinds(kinds map[schema.GroupVersionKind]resourceKind, crd *unstructured.Unstructured) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		name, _ := fields["name"].(string)
		gv := schema.GroupVersion{Group: group, Version: name}
		kinds[gv.WithKind(kind)] = resourceKind{GVR: gv.WithResource(plural), Namespaced: scope == "Namespaced"}
	}
}

func isCRD(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == crdGroupKind
}

func gvkOf(ref managedresource.ResourceReference) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
}
