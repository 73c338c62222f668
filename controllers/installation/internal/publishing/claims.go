// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

// AreFree reports whether the last job failed because of somebody else's exports, and now nobody holds any of those that the
// Installation wants to write.
func (b *Publisher) AreFree(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !jobs.LostToRival(inst) {
		return false, nil
	}
	known := map[string]exporter{}
	for _, key := range relations.ExportsOf(inst) {
		if err := ctx.Err(); err != nil { // the cache does not ask it
			return false, err
		}
		if held, err := b.heldByRival(ctx, inst, key, known); err != nil || held {
			return false, err
		}
	}
	return true, nil
}

// exporter is what an Installation exports, by keys of the export index. One that does not exist has no UID.
type exporter struct {
	uid     types.UID
	exports []string
}

// heldByRival reports whether another Installation holds an export, by a key of the export index, as the cache has it.
func (b *Publisher) heldByRival(ctx context.Context, inst *v1alpha1.Installation, key string, known map[string]exporter) (bool, error) {
	object, name := relations.ObjectOfKey(key)
	err := b.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, object, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	owner := data.OtherOwner(object, inst)
	if owner == nil || !object.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	other, err := b.exporter(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, known)
	if err != nil || other.uid != owner.UID {
		return false, err
	}
	_, exports := slices.BinarySearch(other.exports, key)
	return exports, nil
}

// exporter reads an Installation once, and remembers what it exports in order.
func (b *Publisher) exporter(ctx context.Context, key client.ObjectKey, known map[string]exporter) (exporter, error) {
	if found, ok := known[key.Name]; ok {
		return found, nil
	}
	inst, found := &v1alpha1.Installation{}, exporter{}
	err := b.Get(ctx, key, inst, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return exporter{}, err
	}
	if err == nil {
		found = exporter{inst.UID, slices.Sorted(slices.Values(relations.ExportsOf(inst)))}
	}
	known[key.Name] = found
	return found, nil
}

// Lost returns an export that the last job of an idle Installation published for its present spec and that is gone; empty where all are
// there. The cache may be behind, so that what it does not show is looked for.
func (b *Publisher) Lost(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if inst.Status.Phase != v1alpha1.PhaseSucceeded || inst.Status.ObservedGeneration != inst.Generation {
		return "", nil
	}
	for _, export := range relations.ExportsOf(inst) {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		kind, name, _ := strings.Cut(export, "/")
		key, object := client.ObjectKey{Namespace: inst.Namespace, Name: name}, client.Object(&v1alpha1.DataObject{})
		if kind == "Target" {
			object = &v1alpha1.Target{}
		}
		err := b.Get(ctx, key, object, client.UnsafeDisableDeepCopy)
		if apierrors.IsNotFound(err) {
			err = b.Live.Get(ctx, key, object)
		}
		if apierrors.IsNotFound(err) {
			return kind + " " + name, nil
		}
		if err != nil {
			return "", err
		}
		if value, ok := object.(*v1alpha1.DataObject); ok && value.SecretReference != nil {
			if hash, err := sensitive.Hash(ctx, b.Live, value); err != nil || hash == "" {
				return "Secret " + value.SecretReference.Name, err
			}
		}
	}
	return "", nil
}
