// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"helm.sh/helm/v3/pkg/storage"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// recordName is the label by which Helm finds its records of a release.
const recordName = "name"

// RecordPrefix is how the names of all records of releases begin.
const RecordPrefix = storage.HelmStorageType + "."

// Limits of what a search takes from a cluster: answers of a list, which is of the records of all releases of a namespace and of metadata alone, releases,
// and characters of a name, which is a label there.
const (
	maxPages    = 400
	maxReleases = 10_000
	maxName     = 63
)

var errTooManyRecords = errors.New("helm releases cannot be looked for: the cluster has too many records of releases")

// Labelled returns the releases on a cluster that have a revision with the given labels. Where the records of all namespaces may not be listed, it looks in the given namespaces, as far as they may be listed there. The error is
// Forbidden if they may be listed nowhere.
func (e *Engine) Labelled(ctx context.Context, cluster *target.Cluster, labels map[string]string, namespaces ...string) ([]managedresource.ReleaseReference, error) {
	found, err := e.recordedIn(ctx, cluster, metav1.NamespaceAll, labels)
	if !apierrors.IsForbidden(err) {
		return found, err
	}
	return labelledIn(ctx, e.recordedIn, err, cluster, labels, namespaces)
}

// search looks for releases with the given labels in a namespace.
type search func(context.Context, *target.Cluster, string, map[string]string) ([]managedresource.ReleaseReference, error)

// labelledIn looks in the given namespaces. It returns the refusal if each of them refuses too.
func labelledIn(ctx context.Context, look search, refusal error, cluster *target.Cluster, labels map[string]string,
	namespaces []string) ([]managedresource.ReleaseReference, error) {
	var found []managedresource.ReleaseReference
	isListed := false
	for _, namespace := range namespaces {
		more, err := look(ctx, cluster, namespace, labels)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		found, isListed = append(found, more...), isListed || err == nil
	}
	if isListed {
		return found, nil
	}
	return nil, refusal
}

// recordedIn looks through the metadata of the records.
func (e *Engine) recordedIn(ctx context.Context, cluster *target.Cluster, namespace string, labels map[string]string) ([]managedresource.ReleaseReference, error) {
	kind := "SecretList"
	if e.options.Driver == DriverConfigMap {
		kind = "ConfigMapList"
	}
	wanted := maps.Clone(labels)
	wanted[records.Owner] = records.ByHelm
	var found []managedresource.ReleaseReference
	known := map[managedresource.ReleaseReference]bool{}
	err := target.Pages(maxPages, func(limit int64, next string) (string, error) {
		if next == "" {
			found = nil
			clear(known)
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		err := cluster.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(wanted), client.Limit(limit), client.Continue(next))
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			release := managedresource.ReleaseReference{Namespace: list.Items[i].Namespace, Name: list.Items[i].Labels[recordName]}
			if !isName(release) || known[release] {
				continue
			}
			if len(found) == maxReleases {
				return "", errTooManyRecords
			}
			known[release], found = true, append(found, release)
		}
		return list.Continue, nil
	})
	switch {
	case errors.Is(err, errTooManyRecords), errors.Is(err, target.ErrTooManyPages):
		return nil, errTooManyRecords
	case err != nil:
		return nil, fmt.Errorf("helm releases cannot be looked for: %w", err)
	}
	return found, nil
}

// RecordOf names the record of a revision.
func (e *Engine) RecordOf(namespace, name string, revision int) managedresource.ResourceReference {
	record := managedresource.ResourceReference{
		APIVersion: "v1", Kind: "Secret", Namespace: namespace, Name: fmt.Sprintf("%s%s.v%d", RecordPrefix, name, revision),
	}
	if e.options.Driver == DriverConfigMap {
		record.Kind = "ConfigMap"
	}
	return record
}

// isName reports whether a cluster can have a release of that name.
func isName(release managedresource.ReleaseReference) bool {
	return release.Name != "" && max(len(release.Name), len(release.Namespace)) <= maxName
}
