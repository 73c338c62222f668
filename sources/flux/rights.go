// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package flux

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Unwatchable is a kind of sources that the cluster serves and that a process may not watch.
type Unwatchable struct {
	// Kind is an empty object of the kind.
	Kind client.Object
	// Missing is the right, as verb and resource.
	Missing string
}

// FindUnwatchable returns those of some kinds of sources that the user of a client may not list or watch, in a namespace or with "" in all. A forbidden
// watch keeps a whole manager from working: whoever watches sources leaves these out. It fails when the API server does not answer.
func FindUnwatchable(ctx context.Context, c client.Client, kinds []client.Object, namespace string) ([]Unwatchable, error) {
	var refused []Unwatchable
	for _, kind := range kinds {
		missing, err := missingRight(ctx, c, kind, namespace)
		if err != nil {
			return nil, err
		}
		if missing != "" {
			refused = append(refused, Unwatchable{kind, missing})
		}
	}
	return refused, nil
}

// missingRight returns what a watch of a kind lacks, as verb and resource; "" when nothing.
func missingRight(ctx context.Context, c client.Client, kind client.Object, namespace string) (string, error) {
	gvk, err := apiutil.GVKForObject(kind, c.Scheme())
	if err != nil {
		return "", fmt.Errorf("find the kind of a source: %w", err)
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
