// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"fmt"
	"slices"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/runtime/conditions"
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
	switch o.(type) {
	case *sourcev1.GitRepository:
		return kindNamed(sourcev1.GitRepositoryKind)
	case *sourcev1.OCIRepository:
		return kindNamed(sourcev1.OCIRepositoryKind)
	case *sourcev1.Bucket:
		return kindNamed(sourcev1.BucketKind)
	case *sourcev1.HelmChart:
		return kindNamed(sourcev1.HelmChartKind)
	case *sourcev1.ExternalArtifact:
		return kindNamed(sourcev1.ExternalArtifactKind)
	}
	return kind{}, false
}
