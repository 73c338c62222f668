// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
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
	heirs, err := others(ctx, r.Live, s.sync)
	if err != nil {
		return err
	}
	if len(heirs) == 0 {
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
// content. The Secret with the access to the source is never deleted.
func (r *Reconciler) deleteMade(ctx context.Context, s *scope, useless func(client.Object) bool) error {
	for _, kind := range []schema.GroupVersionKind{v1alpha1.GroupVersion.WithKind("Target"), secretKind} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		err := r.Live.List(ctx, list, client.InNamespace(s.sync.Namespace), client.MatchingLabels{v1alpha1.TargetSyncLabel: v1alpha1.TargetSyncOK})
		if err != nil {
			return err
		}
		for i := range list.Items {
			object := &list.Items[i]
			object.SetGroupVersionKind(kind)
			isAccess := isSecret(object) && object.Name == s.sync.Spec.SecretRef.Name
			if isAccess || !isMade(object) || !object.DeletionTimestamp.IsZero() || !useless(object) {
				continue
			}
			if err := r.deleteOne(ctx, s, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// deleteOne deletes an object unless another TargetSync has come, which may have made it.
func (r *Reconciler) deleteOne(ctx context.Context, s *scope, object *metav1.PartialObjectMetadata) error {
	rivals, err := others(ctx, r.Live, s.sync)
	if err != nil {
		return err
	}
	if len(rivals) > 0 {
		return kit.ErrStop
	}
	s.changes.delete(object)
	return kit.DeleteLive(ctx, r.Live, r.Client, object, nil)
}

func isSecret(object client.Object) bool {
	return object.GetObjectKind().GroupVersionKind().GroupKind() == secretKind.GroupKind()
}
