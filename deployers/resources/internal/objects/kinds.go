// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package objects

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

// CRDGroupKind is the kind that defines kinds.
var CRDGroupKind = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// ErrUnanswered is inside the error of a target that cannot be asked for its kinds.
var ErrUnanswered = errors.New("cannot learn the kinds of target")

// ResourceKind is how the API server serves a kind.
type ResourceKind struct {
	GVR        schema.GroupVersionResource
	Namespaced bool
}

// Lookup asks the target how it serves a kind. The error of an unknown kind satisfies isNoMatch.
func Lookup(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (ResourceKind, error) {
	mapping, err := cluster.MapperFor(ctx).RESTMapping(gvk.GroupKind(), gvk.Version)
	if IsNoMatch(err) {
		return ResourceKind{}, unknownKind(cluster.Name, gvk.GroupVersion().String(), gvk.Kind, err)
	}
	if err != nil {
		return ResourceKind{}, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
	}
	return ResourceKind{GVR: mapping.Resource, Namespaced: mapping.Scope.Name() == "namespace"}, nil
}

// IsUnserved reports whether an answer says that the path is not served, and not that the object does not exist: the version of its kind, or the
// kind, may be gone since it was learnt, or something in the place of the API server does not know what it is asked for.
func IsUnserved(err error) bool {
	return apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// Served is how clusters serve kinds now, each asked for once in a call of a deployer.
type Served struct{ known sync.Map }

type servedKey struct {
	cluster *target.Cluster
	schema.GroupKind
}

// Anew asks the target how it serves a kind in any version, whatever is known from before. The error of a kind that no version has satisfies
// isNoMatch: objects of it do not exist.
func (s *Served) Anew(ctx context.Context, cluster *target.Cluster, kind schema.GroupKind) (ResourceKind, error) {
	read, _ := s.known.LoadOrStore(servedKey{cluster, kind}, sync.OnceValues(func() (ResourceKind, error) {
		found, err := servedIn(ctx, cluster, kind)
		if err != nil && !IsNoMatch(err) {
			return found, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
		}
		return found, err
	}))
	return read.(func() (ResourceKind, error))()
}

// OfAnyVersion is lookup for objects that may have been applied long ago, in a version that the target does not serve any more.
func (s *Served) OfAnyVersion(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (ResourceKind, error) {
	kind, err := Lookup(ctx, cluster, gvk)
	if !IsNoMatch(err) {
		return kind, err
	}
	if kind, anew := s.Anew(ctx, cluster, gvk.GroupKind()); !IsNoMatch(anew) {
		return kind, anew
	}
	return kind, err
}

// versionKey is a version of a group on a cluster.
type versionKey struct {
	cluster *target.Cluster
	schema.GroupVersion
}

// InVersion asks the target whether it serves a kind in exactly this version, whatever is known from before. The versions of the core group do not go.
func (s *Served) InVersion(ctx context.Context, cluster *target.Cluster, gvk schema.GroupVersionKind) (bool, error) {
	if gvk.Group == "" {
		return true, nil
	}
	read, _ := s.known.LoadOrStore(versionKey{cluster, gvk.GroupVersion()}, sync.OnceValues(func() (*metav1.APIResourceList, error) {
		client, err := cluster.DiscoveryFor(ctx)
		if err != nil {
			return nil, err
		}
		resources, err := client.ServerResourcesForGroupVersion(gvk.GroupVersion().String())
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
		}
		return resources, nil
	}))
	resources, err := read.(func() (*metav1.APIResourceList, error))()
	_, isServed := resourceIn(resources, gvk)
	return isServed, err
}

func servedIn(ctx context.Context, cluster *target.Cluster, kind schema.GroupKind) (ResourceKind, error) {
	client, err := cluster.DiscoveryFor(ctx)
	if err != nil {
		return ResourceKind{}, err
	}
	groups, err := client.ServerGroups()
	if err != nil {
		return ResourceKind{}, err
	}
	for _, group := range groups.Groups {
		if group.Name != kind.Group {
			continue
		}
		for _, version := range group.Versions {
			resources, err := client.ServerResourcesForGroupVersion(version.GroupVersion)
			if err != nil && !apierrors.IsNotFound(err) {
				return ResourceKind{}, err
			}
			if found, isServed := resourceIn(resources, kind.WithVersion(version.Version)); isServed {
				return found, nil
			}
		}
	}
	return ResourceKind{}, &meta.NoKindMatchError{GroupKind: kind}
}

func resourceIn(resources *metav1.APIResourceList, gvk schema.GroupVersionKind) (ResourceKind, bool) {
	if resources == nil {
		return ResourceKind{}, false
	}
	for _, resource := range resources.APIResources {
		if resource.Kind == gvk.Kind && !strings.Contains(resource.Name, "/") {
			return ResourceKind{GVR: gvk.GroupVersion().WithResource(resource.Name), Namespaced: resource.Namespaced}, true
		}
	}
	return ResourceKind{}, false
}

// KindNamed returns the kind that a deletion group names, by kind or by plural resource name. Names that the target does not
// know are returned as they are.
func KindNamed(ctx context.Context, cluster *target.Cluster, apiVersion, name string) (schema.GroupVersionKind, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return schema.GroupVersionKind{}, Misconfigured("apiVersion %q is malformed: %w", apiVersion, err)
	}
	if name != "" && (name[0] < 'a' || name[0] > 'z') {
		return gv.WithKind(name), nil
	}
	gvk, err := cluster.MapperFor(ctx).KindFor(gv.WithResource(name))
	if IsNoMatch(err) {
		return gv.WithKind(name), nil
	}
	if err != nil {
		return schema.GroupVersionKind{}, fmt.Errorf("%w %s: %w", ErrUnanswered, cluster.Name, err)
	}
	return gvk, nil
}

// IsCRD reports whether an object is a CustomResourceDefinition.
func IsCRD(object *unstructured.Unstructured) bool {
	return object.GroupVersionKind().GroupKind() == CRDGroupKind
}

// Get reads one object live.
func (s *Served) Get(ctx context.Context, cluster *target.Cluster, ref managedresource.ResourceReference) (*unstructured.Unstructured, error) {
	kind, err := s.OfAnyVersion(ctx, cluster, GVKOf(ref))
	if err != nil {
		return nil, err
	}
	live, err := Client(cluster, kind, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	if IsUnserved(err) {
		if kind, err = s.Anew(ctx, cluster, GVKOf(ref).GroupKind()); err != nil {
			return nil, err
		}
		live, err = Client(cluster, kind, ref.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	}
	if err != nil {
		return nil, ObjectError("read", ref, err)
	}
	return live, nil
}
