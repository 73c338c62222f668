// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package publishing writes what Installations give to others: copies of imports into their own scope, exports into that of their parent. It knows whose
// an object is and whether the cache shows it, but neither how its content comes about nor who reads it. It promises nothing to others.
package publishing

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

// Publisher publishes DataObjects and Targets.
type Publisher struct {
	client.Client
	// Live reads from the API server.
	Live    client.Reader
	Related *relations.Finder

	dataObjects kit.Consistency
	targets     kit.Consistency
	echo        echo
}

// shownRetry is when to look again after a cache lagged behind for too long.
const shownRetry = time.Second

// metaOf is the metadata of a DataObject or Target that an Installation makes in a scope.
func metaOf(inst *v1alpha1.Installation, source, scope, key, hash string) metav1.ObjectMeta {
	labels := map[string]string{
		v1alpha1.DataObjectSourceLabel: kit.InstallationScope(inst.Name), v1alpha1.DataObjectSourceTypeLabel: source,
		v1alpha1.DataObjectKeyLabel: key, v1alpha1.DataObjectJobIDLabel: inst.Status.JobID,
	}
	if scope != "" {
		labels[v1alpha1.DataObjectContextLabel] = scope
	}
	return metav1.ObjectMeta{
		Name: kit.DataName(scope, key), Namespace: inst.Namespace, Labels: labels,
		Annotations: map[string]string{v1alpha1.HashAnnotation: hash},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: inst.Name, UID: inst.UID,
		}},
	}
}

// create creates a DataObject or Target and remembers that it did.
func (b *Publisher) create(ctx context.Context, object client.Object) error {
	stored := storedOf(object)
	if err := b.Create(ctx, stored); err != nil {
		return err
	}
	b.written(object).Created(stored)
	return b.keep(ctx, object, stored)
}

// replace writes a DataObject or Target over what exists and remembers that it did. The finalizers of others stay. One that has been
// collected as garbage meanwhile is created.
func (b *Publisher) replace(ctx context.Context, object, existing client.Object) error {
	if err := b.keep(ctx, object, existing); err != nil {
		return err
	}
	stored := storedOf(object)
	stored.SetResourceVersion(existing.GetResourceVersion())
	stored.SetFinalizers(existing.GetFinalizers())
	err := b.Update(ctx, stored)
	if apierrors.IsNotFound(err) {
		object.SetResourceVersion("")
		object.SetFinalizers(nil)
		return b.create(ctx, object)
	}
	if err != nil {
		return err
	}
	b.written(object).Wrote(stored)
	former, ok := existing.(*v1alpha1.DataObject)
	if wanted, isData := object.(*v1alpha1.DataObject); ok && isData && wanted.SecretReference == nil {
		return sensitive.Drop(ctx, b.Live, b.Client, former)
	}
	return nil
}

// storedOf returns what the API server gets of an object: of a sensitive one a copy without the value.
func storedOf(object client.Object) client.Object {
	if value, ok := object.(*v1alpha1.DataObject); ok && value.SecretReference != nil {
		return sensitive.Stored(value)
	}
	return object
}

// keep writes the value of a sensitive DataObject into its Secret, which belongs to the stored object.
func (b *Publisher) keep(ctx context.Context, object, stored client.Object) error {
	if value, ok := object.(*v1alpha1.DataObject); ok {
		return sensitive.Keep(ctx, b.Live, b.Client, value, stored)
	}
	return nil
}

// Seen notes an event of an object of a kind that the cache shows by now, or does not show any more.
func (b *Publisher) Seen(kind string, object client.Object) {
	if kind == "DataObject" || kind == "Target" {
		b.written(object).Stale(object)
		b.echo.changed()
	}
}

func (b *Publisher) written(object client.Object) *kit.Consistency {
	if _, ok := object.(*v1alpha1.Target); ok {
		return &b.targets
	}
	return &b.dataObjects
}

// awaitShown waits until the cache shows what this process wrote to DataObjects and Targets: whoever is started next reads them there.
func (b *Publisher) awaitShown(ctx context.Context, alarm *jobs.Alarm, objects map[string]client.Object) error {
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		object := objects[key]
		err := b.echo.await(ctx, func() (bool, error) { return b.shown(ctx, object) })
		if errors.Is(err, kit.ErrStop) {
			alarm.Wake(shownRetry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Publisher) shown(ctx context.Context, object client.Object) (bool, error) {
	key := client.ObjectKeyFromObject(object)
	var cached client.Object = &v1alpha1.DataObject{}
	if _, ok := object.(*v1alpha1.Target); ok {
		cached = &v1alpha1.Target{}
	}
	err := b.Get(ctx, key, cached, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return b.written(object).Unseen(key) == 0, nil
	}
	return err == nil && !b.written(object).Stale(cached), err
}
