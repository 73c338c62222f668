// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// rivalPage is how many TargetSyncs of a namespace the API server is asked for at a time. The first that is not in deletion decides.
const rivalPage = 500

// isRival reports whether an object is another TargetSync than sync and not in deletion.
func isRival(other, sync client.Object) bool {
	return other.GetUID() != sync.GetUID() && other.GetDeletionTimestamp().IsZero()
}

// hasRival reports whether the API server has another TargetSync in the namespace that is not in deletion.
func hasRival(ctx context.Context, live client.Reader, sync *v1alpha1.TargetSync) (bool, error) {
	list := metadataList(v1alpha1.GroupVersion.WithKind("TargetSync"))
	for {
		err := live.List(ctx, list, client.InNamespace(sync.Namespace), client.Limit(rivalPage), client.Continue(list.Continue))
		if err != nil {
			return false, err
		}
		for i := range list.Items {
			if isRival(&list.Items[i], sync) {
				return true, nil
			}
		}
		if list.Continue == "" {
			return false, nil
		}
	}
}

// shownRival returns the name of a rival that the cache shows; empty is none.
func (r *Reconciler) shownRival(ctx context.Context, sync *v1alpha1.TargetSync) (string, error) {
	staying := &v1alpha1.TargetSyncList{}
	err := r.List(ctx, staying, client.InNamespace(sync.Namespace), client.MatchingFields{stayingIndex: "true"}, client.Limit(2), client.UnsafeDisableDeepCopy)
	if err != nil {
		return "", err
	}
	for i := range staying.Items {
		if isRival(&staying.Items[i], sync) {
			return staying.Items[i].Name, nil
		}
	}
	return "", nil
}

// hasHeir reports whether another TargetSync of the namespace stays when one goes. What the cache shows is confirmed for one of them, so that thousands
// which are deleted together do not each list all. Where it shows none there may be one nevertheless.
func (r *Reconciler) hasHeir(ctx context.Context, sync *v1alpha1.TargetSync) (bool, error) {
	shown, err := r.shownRival(ctx, sync)
	if err != nil || shown == "" {
		return false, err
	}
	heir := &v1alpha1.TargetSync{}
	if err := r.Live.Get(ctx, client.ObjectKey{Namespace: sync.Namespace, Name: shown}, heir); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return isRival(heir, sync), nil
}

func metadataList(kind schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}
