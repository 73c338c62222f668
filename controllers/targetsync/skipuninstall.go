// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const reasonClusterRemoved = "ClusterRemoved"

// skipIndex finds the DeployItems whose uninstall may be skipped.
const skipIndex = "skip-uninstall-if-cluster-removed"

func skipsUninstall(object client.Object) []string {
	if item, ok := object.(*v1alpha1.DeployItem); ok && item.Spec.OnDelete != nil && item.Spec.OnDelete.SkipUninstallIfClusterRemoved {
		return []string{"true"}
	}
	return nil
}

// skipUninstalls lets DeployItems go whose Shoot is gone or in deletion. Before that it notes on each which Shoot it deploys to: in its
// deletion the Target may be gone, too.
func (r *Reconciler) skipUninstalls(ctx context.Context, s *scope) error {
	if s.pattern == nil || s.sync.Spec.ShootNameExpression == "" {
		return nil
	}
	items := &v1alpha1.DeployItemList{}
	if err := r.List(ctx, items, client.InNamespace(s.sync.Namespace), client.MatchingFields{skipIndex: "true"}); err != nil {
		return err
	}
	for i := range items.Items {
		if err := r.skipUninstall(ctx, s, &items.Items[i]); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) skipUninstall(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	cluster, err := r.clusterOf(ctx, item)
	if err != nil || cluster == "" {
		return err
	}
	change := kit.MetadataChange{Annotations: map[string]*string{v1alpha1.ClusterNameAnnotation: &cluster}}
	skipped := !item.DeletionTimestamp.IsZero() && s.isRemoved(cluster) && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
	if skipped {
		yes := "true"
		change.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = &yes
	}
	if err := kit.PatchMetadata(ctx, r.Client, item, change); err != nil {
		return err
	}
	if skipped {
		r.Recorder.Eventf(item, corev1.EventTypeWarning, reasonClusterRemoved,
			"Shoot %s in namespace %s of the source cluster is gone or in deletion: the DeployItem is deleted without uninstall, as spec.onDelete.skipUninstallIfClusterRemoved says",
			cluster, s.sync.Spec.SourceNamespace)
	}
	return nil
}

// clusterOf returns the Shoot that a DeployItem deploys to; empty where no TargetSync made its Target. The copies of a Target that
// Installations make name the same Secret, which has the name of the Shoot.
func (r *Reconciler) clusterOf(ctx context.Context, item *v1alpha1.DeployItem) (string, error) {
	noted := item.Annotations[v1alpha1.ClusterNameAnnotation]
	if item.Spec.Target == nil {
		return "", nil
	}
	used := &v1alpha1.Target{}
	err := r.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}, used)
	if err != nil {
		return noted, client.IgnoreNotFound(err)
	}
	if used.Labels[v1alpha1.TargetSyncLabel] != v1alpha1.TargetSyncOK || used.Spec.SecretRef == nil {
		return "", nil
	}
	return used.Spec.SecretRef.Name, nil
}

// isRemoved reports whether the source knows no Shoot of a name, or is deleting it. A name that is not selected says nothing about its Shoot.
func (s *scope) isRemoved(cluster string) bool {
	return s.pattern.MatchString(cluster) && (s.wanted[cluster] == nil || s.wanted[cluster].leaving)
}
