// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"cmp"
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// prune deletes what earlier syncs have made for clusters that the source no longer knows. After a problem it deletes nothing.
func (r *Reconciler) prune(ctx context.Context, s *scope) error {
	if len(s.problems) > 0 {
		return nil
	}
	return r.deleteMade(ctx, s, func(object client.Object) bool {
		wanted := s.wanted[object.GetName()]
		return wanted == nil || isSecret(object) && wanted.ref.Name != object.GetName()
	})
}

// uninstall deletes in a deletion whatever was made. Another TargetSync of the namespace takes it over as it is: its next sync deletes what
// its own source does not know.
func (r *Reconciler) uninstall(ctx context.Context, s *scope) error {
	if s.sync.DeletionTimestamp.IsZero() {
		return nil
	}
	r.sources.leave(client.ObjectKeyFromObject(s.sync))
	hasHeir, err := r.hasHeir(ctx, s.sync)
	if err != nil {
		return err
	}
	if !hasHeir {
		if err := r.deleteMade(ctx, s, func(client.Object) bool { return true }); err != nil {
			return err
		}
	}
	err = patchMetadata(ctx, r.Client, s.sync, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer})
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	return kit.ErrStop
}

// deleteMade deletes of what TargetSyncs have made in the namespace that which useless selects: Targets first, so that none is left without
// content. It stops where another TargetSync has come, which may have made it. Thousands that are in deletion are listed once for all objects; one that comes
// later syncs when the cache shows it.
func (r *Reconciler) deleteMade(ctx context.Context, s *scope, useless func(client.Object) bool) error {
	for _, kind := range []schema.GroupVersionKind{v1alpha1.GroupVersion.WithKind("Target"), secretKind} {
		made, err := r.deletable(ctx, s.sync, kind, useless)
		if err != nil {
			return err
		}
		if err := r.deleteAll(ctx, s, made); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) deleteAll(ctx context.Context, s *scope, made []*metav1.PartialObjectMetadata) error {
	if len(made) == 0 {
		return nil
	}
	if rival, err := hasRival(ctx, r.Live, s.sync); rival || err != nil {
		return cmp.Or(err, kit.ErrStop)
	}
	for _, object := range made {
		if err := r.deleteOne(ctx, s, object); err != nil {
			return err
		}
	}
	return nil
}

// deletable returns what TargetSyncs have made of a kind and useless selects. The Secret with the access to the source is never deleted.
func (r *Reconciler) deletable(
	ctx context.Context, sync *v1alpha1.TargetSync, kind schema.GroupVersionKind, useless func(client.Object) bool,
) (all []*metav1.PartialObjectMetadata, err error) {
	list := metadataList(kind)
	err = r.Live.List(ctx, list, client.InNamespace(sync.Namespace), client.MatchingLabels{v1alpha1.TargetSyncLabel: v1alpha1.TargetSyncOK})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		object := &list.Items[i]
		object.SetGroupVersionKind(kind)
		isAccess := isSecret(object) && object.Name == sync.Spec.SecretRef.Name
		if !isAccess && isMade(object) && object.DeletionTimestamp.IsZero() && useless(object) {
			all = append(all, object)
		}
	}
	return all, nil
}

// deleteOne deletes an object unless the cache shows another TargetSync by now.
func (r *Reconciler) deleteOne(ctx context.Context, s *scope, object *metav1.PartialObjectMetadata) error {
	if rival, err := r.shownRival(ctx, s.sync); rival != "" || err != nil {
		return cmp.Or(err, kit.ErrStop)
	}
	s.changes.delete(object)
	return kit.DeleteLive(ctx, r.Live, r.Client, object, nil)
}

func isSecret(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind().GroupKind() == secretKind.GroupKind()
}
