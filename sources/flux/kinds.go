// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package flux finds the artifact behind a sourceRef: it looks a Flux source up, judges whether its artifact may be used,
// and tells controllers which changes of a source concern whoever refers to it.
//
// The sources are those of the source.toolkit.fluxcd.io/v1 API. Scheme and watches belong to the caller; the scheme of the
// reader must know that API (AddToScheme).
package flux

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Object is what every kind of source offers.
type Object interface {
	conditions.Getter
	sourcev1.Source
}

// kind is one kind of source.
type kind struct {
	name string
	// blank makes an empty object.
	blank func() Object
	// observed returns the generation that the status speaks of; nil where the kind does not record it.
	observed func(Object) int64
	// suspended reports whether the source produces no new artifact.
	suspended func(Object) bool
}

var kinds = []kind{
	{
		name: sourcev1.GitRepositoryKind, blank: func() Object { return &sourcev1.GitRepository{} },
		observed:  func(o Object) int64 { return o.(*sourcev1.GitRepository).Status.ObservedGeneration },
		suspended: func(o Object) bool { return o.(*sourcev1.GitRepository).Spec.Suspend },
	},
	{
		name: sourcev1.OCIRepositoryKind, blank: func() Object { return &sourcev1.OCIRepository{} },
		observed:  func(o Object) int64 { return o.(*sourcev1.OCIRepository).Status.ObservedGeneration },
		suspended: func(o Object) bool { return o.(*sourcev1.OCIRepository).Spec.Suspend },
	},
	{
		name: sourcev1.BucketKind, blank: func() Object { return &sourcev1.Bucket{} },
		observed:  func(o Object) int64 { return o.(*sourcev1.Bucket).Status.ObservedGeneration },
		suspended: func(o Object) bool { return o.(*sourcev1.Bucket).Spec.Suspend },
	},
	{
		name: sourcev1.HelmChartKind, blank: func() Object { return &sourcev1.HelmChart{} },
		observed:  func(o Object) int64 { return o.(*sourcev1.HelmChart).Status.ObservedGeneration },
		suspended: func(o Object) bool { return o.(*sourcev1.HelmChart).Spec.Suspend },
	},
	{
		name: sourcev1.ExternalArtifactKind, blank: func() Object { return &sourcev1.ExternalArtifact{} },
	},
}

// AddToScheme registers the source kinds, as the scheme of every client used with this package needs.
func AddToScheme(s *runtime.Scheme) error {
	if err := sourcev1.AddToScheme(s); err != nil {
		return fmt.Errorf("register the Flux source API: %w", err)
	}
	return nil
}

// Kinds returns the names of the kinds that a sourceRef may have.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = k.name
	}
	return names
}

// Available returns an empty object of each kind of source that the cluster serves, for watches. A kind that it does not
// serve is left out; any other failure to find out is an error.
func Available(mapper meta.RESTMapper) ([]client.Object, error) {
	var found []client.Object
	for _, k := range kinds {
		gk := schema.GroupKind{Group: sourcev1.GroupVersion.Group, Kind: k.name}
		_, err := mapper.RESTMapping(gk, sourcev1.GroupVersion.Version)
		switch {
		case meta.IsNoMatchError(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("find out whether the cluster serves %s: %w", gk, err)
		}
		found = append(found, k.blank())
	}
	return found, nil
}

func kindNamed(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// kindOf returns the kind of a typed object, which often carries no apiVersion and kind of its own.
func kindOf(o client.Object) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return reflect.TypeOf(k.blank()) == reflect.TypeOf(o) })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}

// Key is the value under which referring objects are indexed and a source finds them: "kind/namespace/name".
func Key(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

// KeyOf returns the Key of a source object, or "" if o is none.
func KeyOf(o client.Object) string {
	k, ok := kindOf(o)
	if !ok {
		return ""
	}
	return Key(k.name, o.GetNamespace(), o.GetName())
}

// KindOf returns the name of the kind of a source object, or "" if o is none.
func KindOf(o client.Object) string {
	k, _ := kindOf(o)
	return k.name
}

// KeyFor returns the Key of what ref names for an object in namespace owner.
func KeyFor(owner string, ref v1alpha1.SourceReference) string {
	return Key(ref.Kind, namespaceOf(owner, ref), ref.Name)
}

// RevisionChanged passes the events of a source that can change what Lookup returns about it: another revision or digest,
// or another reason why there is none. Retries, intervals and metadata of a usable source pass nobody. Objects of the
// initial list are left out, because whoever refers to them is listed at the same time.
func RevisionChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc:  func(e event.UpdateEvent) bool { return outcome(e.ObjectOld) != outcome(e.ObjectNew) },
		DeleteFunc:  func(event.DeleteEvent) bool { return true },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// verdict is what a referring object depends on.
type verdict struct{ revision, digest, problem, unverified string }

func outcome(o client.Object) verdict {
	k, known := kindOf(o)
	source, typed := o.(Object)
	if !known || !typed {
		return verdict{}
	}
	if err := judge(k, source); err != nil {
		return verdict{problem: err.Error()}
	}
	a := source.GetArtifact()
	return verdict{revision: a.Revision, digest: a.Digest, unverified: unverified(source)}
}

// unverified is what a source that asks for verification says while it is not verified.
func unverified(o Object) string {
	if !asksForVerification(o) {
		return ""
	}
	if err := (Source{Object: o}).RequireVerified(); err != nil {
		return err.Error()
	}
	return ""
}

// Watchable returns an empty object of each kind of source that the cluster serves and that the user of a client may watch in a namespace, or with "" in
// all, and those that it may not: a forbidden watch keeps a whole manager from working. It logs what a process lacks, and who therefore does not notice what
// happens. It fails when the API server does not answer.
func Watchable(ctx context.Context, c client.Client, namespace, process, followers string) (watchable, refused []client.Object, err error) {
	served, err := Available(c.RESTMapper())
	if err != nil {
		return nil, nil, err
	}
	for _, kind := range served {
		missing, err := MissingRight(ctx, c, kind, namespace)
		switch {
		case err != nil:
			return nil, nil, err
		case missing == "":
			watchable = append(watchable, kind)
		default:
			refused = append(refused, kind)
			log.Log.WithName("sources").Error(nil, fmt.Sprintf("the %s may not %s: %s do not notice by themselves when sources of this kind change; all other "+
				"kinds work. Grant get, list and watch and restart the %[1]s", process, missing, followers))
		}
	}
	return watchable, refused, nil
}

// MissingRight returns what the user of a client lacks to watch a kind in a namespace, or with "" in all, as verb and resource; "" when nothing. It fails
// when the API server does not answer.
func MissingRight(ctx context.Context, c client.Client, kind client.Object, namespace string) (string, error) {
	gvk, err := apiutil.GVKForObject(kind, c.Scheme())
	if err != nil {
		return "", fmt.Errorf("find the kind of an object: %w", err)
	}
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "", fmt.Errorf("find the resource of %s: %w", gvk.Kind, err)
	}
	for _, verb := range []string{"list", "watch"} {
		allowed, err := mayI(ctx, c, verb, mapping.Resource.GroupResource(), namespace)
		if err != nil || !allowed {
			return verb + " " + mapping.Resource.GroupResource().String(), err
		}
	}
	return "", nil
}

func mayI(ctx context.Context, c client.Client, verb string, resource schema.GroupResource, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: verb, Group: resource.Group, Resource: resource.Resource,
		},
	}}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("find out whether this process may %s %s: %w", verb, resource, err)
	}
	return review.Status.Allowed, nil
}
