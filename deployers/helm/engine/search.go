// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/storage"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// RecordPrefix is how the names of all records of releases begin.
const RecordPrefix = storage.HelmStorageType + "."

// maxPages is how many answers a search takes from a cluster, which are of metadata alone.
const maxPages = 400

// Labelled returns the releases on a cluster that have a revision with the given labels. Where the records of all namespaces may not be listed, it looks in
// the given namespaces, as far as they may be listed there. The error is Forbidden if they may be listed nowhere.
func (e *Engine) Labelled(ctx context.Context, cluster *target.Cluster, labels map[string]string, namespaces ...string) ([]managedresource.ReleaseReference, error) {
	found, refusal := e.labelledIn(ctx, cluster, metav1.NamespaceAll, labels)
	if !apierrors.IsForbidden(refusal) {
		return found, refusal
	}
	for _, namespace := range namespaces {
		more, err := e.labelledIn(ctx, cluster, namespace, labels)
		switch {
		case err == nil:
			found, refusal = append(found, more...), nil
		case !apierrors.IsForbidden(err):
			return nil, err
		}
	}
	return found, refusal
}

func (e *Engine) labelledIn(ctx context.Context, cluster *target.Cluster, namespace string, labels map[string]string) ([]managedresource.ReleaseReference, error) {
	wanted := maps.Clone(labels)
	wanted["owner"] = "helm"
	found := map[managedresource.ReleaseReference]bool{}
	err := target.Pages(maxPages, func(limit int64, next string) (string, error) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(e.recordKind() + "List"))
		err := cluster.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(wanted), client.Limit(limit), client.Continue(next))
		for i := range list.Items {
			if name := list.Items[i].Labels["name"]; name != "" {
				found[managedresource.ReleaseReference{Namespace: list.Items[i].Namespace, Name: name}] = true
			}
		}
		return list.Continue, err
	})
	if err != nil {
		return nil, fmt.Errorf("helm releases cannot be looked for: %w", err)
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b managedresource.ReleaseReference) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	}), nil
}

// RecordOf names the record of a revision.
func (e *Engine) RecordOf(namespace, name string, revision int) managedresource.ResourceReference {
	return managedresource.ResourceReference{
		APIVersion: "v1", Kind: e.recordKind(), Namespace: namespace, Name: fmt.Sprintf("%s%s.v%d", RecordPrefix, name, revision),
	}
}
