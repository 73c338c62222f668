// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"errors"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// ErrStop ends a run of steps without failure: what is left to do needs an event.
var ErrStop = errors.New("stop")

// Step is one entry in the list of a reconciler. It reads and changes the scope S and is idempotent: it derives from what it
// observes whether there is anything to do.
type Step[S any] func(ctx context.Context, scope S) error

// Run executes steps in order up to the first error. ErrStop ends the run and is not an error.
func Run[S any](ctx context.Context, scope S, steps []Step[S]) error {
	if err := Through(ctx, scope, steps); !errors.Is(err, ErrStop) {
		return err
	}
	return nil
}

// Through executes steps that are part of another one, in order up to the first error, which it returns, ErrStop included.
func Through[S any](ctx context.Context, scope S, steps []Step[S]) error {
	for _, step := range steps {
		if err := step(ctx, scope); err != nil {
			return err
		}
	}
	return nil
}

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

// ItemsOf returns the objects of a list, not copies of them.
func ItemsOf(list client.ObjectList) []client.Object {
	objects := make([]client.Object, 0, apimeta.LenList(list))
	_ = apimeta.EachListItem(list, func(object runtime.Object) error { // fails on what is no list only
		objects = append(objects, object.(client.Object))
		return nil
	})
	return objects
}
