// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// isUnserved reports whether an answer says that the path is not served, and not that the object does not exist: the version of its kind, or the
// kind, may be gone since it was learnt, or something in the place of the API server does not know what it is asked for.
func isUnserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// served is how clusters serve kinds now, each asked for once in a call of a deployer.
type served struct{ known sync.Map }

type servedKey struct {
	cluster *target.Cluster
	schema.GroupKind
}

// anew asks the target how it serves a kind in any version, whatever is known from before. The error of a kind that no version has satisfies
// isNoMatch: objects of it do not exist.
func (s *served) anew(ctx context.Context, cluster *target.Cluster, kind schema.GroupKind) (resourceKind, error) {
	read, _ := s.known.LoadOrStore(servedKey{cluster, kind}, sync.OnceValues(func() (resourceKind, error) {
		found, err := servedIn(ctx, cluster, kind)
		if err != nil && !isNoMatch(err) {
			return found, fmt.Errorf("%w %s: %w", errUnanswered, cluster.Name, err)
		}
		return found, err
	}))
	return read.(func() (resourceKind, error))()
}

// ofAnyVersion is lookup for objects that may have been applied long ago, in a version that the target does not serve any more.
func (s *served) ofAnyVersion(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (resourceKind, error) {
	kind, err := lookup(ctx, cluster, gvk)
	if !isNoMatch(err) {
		return kind, err
	}
	if kind, anew := s.anew(ctx, cluster, gvk.GroupKind()); !isNoMatch(anew) {
		return kind, anew
	}
	return kind, err
}

func servedIn(ctx context.Context, cluster *target.Cluster, kind schema.GroupKind) (resourceKind, error) {
	client, err := cluster.DiscoveryFor(ctx)
	if err != nil {
		return resourceKind{}, err
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return resourceKind{}, err
	}
	for _, group := range groups.Groups {
		if group.Name != kind.Group {
			continue
		}
		for _, version := range group.Versions {
			resources, err := client.ServerResourcesForGroupVersion(version.GroupVersion)
			if err != nil && !apierrors.IsNotFound(err) {
				return resourceKind{}, err
			}
			if found, isServed := resourceIn(resources, kind.WithVersion(version.Version)); isServed {
				return found, nil
			}
		}
	}
	return resourceKind{}, &meta.NoKindMatchError{GroupKind: kind}
}

func resourceIn(resources *metav1.APIResourceList, gvk schema.GroupVersionKind) (resourceKind, bool) {
	if resources == nil {
		return resourceKind{}, false
	}
	for _, resource := range resources.APIResources {
		if resource.Kind == gvk.Kind && !strings.Contains(resource.Name, "/") {
			return resourceKind{GVR: gvk.GroupVersion().WithResource(resource.Name), Namespaced: resource.Namespaced}, true
		}
	}
	return resourceKind{}, false
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
