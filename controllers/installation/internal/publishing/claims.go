// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
)

// AreFree reports whether the last job failed because of somebody else's exports, and now nobody holds any of those that the
// Installation wants to write.
func (b *Publisher) AreFree(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !jobs.LostToRival(inst) {
		return false, nil
	}
	for _, key := range relations.ExportsOf(inst) {
		owner, err := b.rival(ctx, inst, key)
		if err != nil || owner != nil {
			return false, err
		}
	}
	return true, nil
}

// rival returns the other Installation that holds an export, by a key of the export index, as the cache has it; nil when there is none.
func (b *Publisher) rival(ctx context.Context, inst *v1alpha1.Installation, key string) (*metav1.OwnerReference, error) {
	object, name := relations.ObjectOfKey(key)
	err := b.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, object)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	owner := data.OtherOwner(object, inst)
	if owner == nil || !object.GetDeletionTimestamp().IsZero() {
		return nil, nil
	}
	other := &v1alpha1.Installation{}
	err = b.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: owner.Name}, other)
	if apierrors.IsNotFound(err) || err == nil && (other.UID != owner.UID || !slices.Contains(relations.ExportsOf(other), key)) {
		return nil, nil
	}
	return owner, err
}

// Lost returns an export that the last job of an idle Installation published for its present spec and that is gone; empty where all are
// there. The cache may be behind, so that what it does not show is looked for.
func (b *Publisher) Lost(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if inst.Status.Phase != v1alpha1.PhaseSucceeded || inst.Status.ObservedGeneration != inst.Generation {
		return "", nil
	}
	for _, export := range relations.ExportsOf(inst) {
		kind, name, _ := strings.Cut(export, "/")
		key, object := client.ObjectKey{Namespace: inst.Namespace, Name: name}, client.Object(&v1alpha1.DataObject{})
		if kind == "Target" {
			object = &v1alpha1.Target{}
		}
		err := b.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			err = b.Live.Get(ctx, key, object)
		}
		if apierrors.IsNotFound(err) {
			return kind + " " + name, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}
