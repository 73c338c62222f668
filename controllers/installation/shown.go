// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// shownRetry is when to look again after a cache lagged behind for too long.
const shownRetry = time.Second

// create creates a DataObject or Target and remembers that it did.
func (r *Reconciler) create(ctx context.Context, object client.Object) error {
	if err := r.Create(ctx, object); err != nil {
		return err
	}
	r.written(object).Created(object)
	return nil
}

// replace writes a DataObject or Target over what exists and remembers that it did. The finalizers of others stay. One that has been
// collected as garbage meanwhile is created.
func (r *Reconciler) replace(ctx context.Context, object, existing client.Object) error {
	object.SetResourceVersion(existing.GetResourceVersion())
	object.SetFinalizers(existing.GetFinalizers())
	err := r.Update(ctx, object)
	if apierrors.IsNotFound(err) {
		object.SetResourceVersion("")
		object.SetFinalizers(nil)
		return r.create(ctx, object)
	}
	if err != nil {
		return err
	}
	r.written(object).Wrote(object)
	return nil
}

// seen notes an event of an object of a kind that the cache shows by now, or does not show any more.
func (r *Reconciler) seen(kind string, object client.Object) {
	switch kind {
	case "DataObject", "Target":
		r.written(object).Stale(object)
		r.echo.Changed()
	case "Secret":
		r.states.Stale(object)
	}
}

func (r *Reconciler) written(object client.Object) *kit.Consistency {
	if _, ok := object.(*v1alpha1.Target); ok {
		return &r.targets
	}
	return &r.dataObjects
}

// awaitShown waits until the cache shows what this process wrote to DataObjects and Targets: whoever is started next reads them there.
func (r *Reconciler) awaitShown(ctx context.Context, s *scope, objects map[string]client.Object) error {
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		object := objects[key]
		err := r.echo.Await(ctx, func() (bool, error) { return r.shown(ctx, object) })
		if errors.Is(err, kit.ErrStop) {
			s.Wake(shownRetry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) shown(ctx context.Context, object client.Object) (bool, error) {
	key := client.ObjectKeyFromObject(object)
	var cached client.Object = &v1alpha1.DataObject{}
	if _, ok := object.(*v1alpha1.Target); ok {
		cached = &v1alpha1.Target{}
	}
	err := r.Get(ctx, key, cached)
	if apierrors.IsNotFound(err) {
		return r.written(object).Unseen(key) == 0, nil
	}
	return err == nil && !r.written(object).Stale(cached), err
}
