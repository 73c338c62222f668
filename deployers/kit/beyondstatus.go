// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// BeyondStatus passes on all events but those of updates that change nothing of an object except its status.
var BeyondStatus = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() || !hasSameSpec(e.ObjectOld, e.ObjectNew)
	},
}

// BeyondMetadata passes on all events but those of updates that change nothing of an object except its metadata and its status.
var BeyondMetadata = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() || e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration()
	},
}

// hasSameSpec reports whether spec, labels, annotations, finalizers and owners of an object are the same in two of its versions.
func hasSameSpec(old, new client.Object) bool {
	return old.GetUID() == new.GetUID() && old.GetGeneration() == new.GetGeneration() &&
		old.GetDeletionTimestamp().IsZero() == new.GetDeletionTimestamp().IsZero() &&
		maps.Equal(old.GetLabels(), new.GetLabels()) && maps.Equal(old.GetAnnotations(), new.GetAnnotations()) &&
		slices.Equal(old.GetFinalizers(), new.GetFinalizers()) && equality.Semantic.DeepEqual(old.GetOwnerReferences(), new.GetOwnerReferences())
}
