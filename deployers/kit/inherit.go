// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// inherited are the annotations that an Installation passes on to everything that it makes.
var inherited = []string{v1alpha1.CacheHelmChartsAnnotation}

// Inherit returns, in the form of MetadataChange.Annotations, what a child has to take over from its parent: each inherited annotation
// with its value, or nil where the parent does not have it (any more).
func Inherit(parent metav1.Object) map[string]*string {
	changes := map[string]*string{}
	for _, name := range inherited {
		if value, ok := parent.GetAnnotations()[name]; ok {
			changes[name] = &value
		} else {
			changes[name] = nil
		}
	}
	return changes
}

// SetInherited gives a child in memory the inherited annotations of its parent and removes those that the parent does not have.
func SetInherited(parent, child metav1.Object) {
	annotations := child.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for name, value := range Inherit(parent) {
		if value == nil {
			delete(annotations, name)
		} else {
			annotations[name] = *value
		}
	}
	child.SetAnnotations(annotations)
}
