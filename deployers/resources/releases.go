// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// The labels by which Helm finds its records of a release, in Secrets or ConfigMaps of the release's namespace.
const (
	recordOwner    = "owner"
	recordOfHelm   = "helm"
	recordName     = "name"
	recordRevision = "version"
	recordStatus   = "status"
	uninstalled    = "uninstalled"
)

// rival is what the records of a release on a target say. The zero value is a release that is not there, or is the session's own.
type rival struct {
	Exists bool
	// Owner names the DeployItem that it belongs to, empty where none does.
	Owner string
}

type releaseKey struct {
	cluster *target.Cluster
	managedresource.ReleaseReference
}

// releases is what is known of Helm releases, each once in a call of a deployer.
type releases struct{ known sync.Map }

// rivalOn finds out whether a Helm release exists on a cluster and is not the owner's.
func (s *Session) rivalOn(ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference) (rival, error) {
	read, _ := s.releases.known.LoadOrStore(releaseKey{cluster, release}, sync.OnceValues(func() (rival, error) {
		for _, kind := range []string{"SecretList", "ConfigMapList"} {
			found, err := newestRecord(ctx, cluster, kind, release)
			if found != nil || err != nil {
				return s.rivalBy(found, release), err
			}
		}
		return rival{}, nil
	}))
	return read.(func() (rival, error))()
}

// storageLabel, on objects of a HelmRelease of Flux, is the namespace of that. Flux keeps the records of the release there, wherever the release is.
const storageLabel = "helm.toolkit.fluxcd.io/namespace"

// RivalOf finds out whether the release that an object is marked with exists and is not the owner's.
func (s *Session) RivalOf(
	ctx context.Context, cluster *target.Cluster, object *unstructured.Unstructured, release managedresource.ReleaseReference,
) (rival, error) {
	by, err := s.rivalOn(ctx, cluster, release)
	storage := object.GetLabels()[storageLabel]
	if by.Exists || err != nil || storage == "" || storage == release.Namespace {
		return by, err
	}
	return s.rivalOn(ctx, cluster, managedresource.ReleaseReference{Name: release.Name, Namespace: storage})
}

// rivalBy reads the labels of the newest record of a release, nil for none.
func (s *Session) rivalBy(record map[string]string, release managedresource.ReleaseReference) rival {
	item, namespace := record[v1alpha1.HelmDeployItemLabel], record[helm.OwnerNamespaceLabel]
	isOwn := item == LabelValue(s.Owner.Item) && namespace == s.Owner.Namespace || item == "" && slices.Contains(s.Owner.Releases, release)
	switch {
	case record == nil, isOwn, record[recordStatus] == uninstalled:
		return rival{}
	case item == "":
		return rival{Exists: true}
	}
	return rival{Exists: true, Owner: "DeployItem " + item + " of namespace " + namespace}
}

// newestRecord returns the labels of the newest revision of a release, nil if there is none.
func newestRecord(ctx context.Context, cluster *target.Cluster, kind string, release managedresource.ReleaseReference) (map[string]string, error) {
	var newest map[string]string
	var last int
	err := target.Pages(math.MaxInt, func(limit int64, next string) (string, error) {
		if next == "" {
			newest, last = nil, -1
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
		err := cluster.Client.List(ctx, list, crclient.InNamespace(release.Namespace), crclient.Limit(limit), crclient.Continue(next),
			crclient.MatchingLabels{recordOwner: recordOfHelm, recordName: release.Name})
		for _, record := range list.Items {
			if revision, err := strconv.Atoi(record.Labels[recordRevision]); err == nil && revision > last {
				newest, last = record.Labels, revision
			}
		}
		return list.Continue, err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot find out whether Helm release %s/%s exists on target %s: %s",
			release.Namespace, release.Name, cluster.Name, target.ShownError(err))
	}
	return newest, nil
}

// IsOfRival reports whether an object with the owner's marks has been taken over by a Helm release that exists and is not the owner's.
func (s *Session) IsOfRival(ctx context.Context, cluster *target.Cluster, object *unstructured.Unstructured) (bool, error) {
	release, found := helm.ReleaseOn(object)
	if !found {
		return false, nil
	}
	by, err := s.RivalOf(ctx, cluster, object, release)
	return by.Exists, err
}
