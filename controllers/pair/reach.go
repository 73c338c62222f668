// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ReadNamespace reads the metadata of a namespace.
func ReadNamespace(ctx context.Context, c client.Reader, name string) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	return found, c.Get(ctx, client.ObjectKey{Name: name}, found)
}

// Allowed returns the namespaces in which the deployers of an Environment may work by what its own namespace says; nil is all.
func Allowed(home *metav1.PartialObjectMetadata) []string {
	text, isLimited := home.Annotations[v1alpha1.AllowedNamespacesAnnotation]
	allowed := names(text)
	if !isLimited || slices.Contains(allowed, "*") {
		return nil
	}
	return allowed
}

// Reaches reports whether the deployers of an Environment may work in a namespace. Those of one that has no namespace may work nowhere.
func (h Homes) Reaches(ctx context.Context, c client.Reader, env *v1alpha1.Environment, namespace string) (bool, error) {
	switch {
	case namespace == env.Status.Namespace:
		return true, nil
	case env.Spec.Namespaces != nil && !slices.Contains(env.Spec.Namespaces, namespace):
		return false, nil
	case env.Status.Namespace == h.Shared:
		return true, nil
	case env.Status.Namespace != h.Own(env.Name):
		return false, nil
	}
	home, err := ReadNamespace(ctx, c, h.Own(env.Name))
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	allowed := Allowed(home)
	return allowed == nil || slices.Contains(allowed, namespace), nil
}

// names reads a list that is written by comma; it is not nil.
func names(text string) []string {
	found := []string{}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}
