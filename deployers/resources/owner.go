// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// OwnerUIDAnnotation, on deployed objects, is the UID of the DeployItem that owns them. It tells items of the same name in
// different namespaces apart; the labels only hold the name. It is an addition to the API of Gardener Landscaper.
const OwnerUIDAnnotation = "manifest.deployer.landscaper.gardener.cloud/deployitem-uid"

// OwnerNamespaceAnnotation, on deployed objects, is the namespace of the DeployItem that owns them. A DeployItem that was made anew under the
// same name in the same namespace, for example from a backup, goes on with the objects of the old one. It is an addition to the API of Gardener
// Landscaper.
const OwnerNamespaceAnnotation = "manifest.deployer.landscaper.gardener.cloud/deployitem-namespace"

// MaxLabelValue is the longest label value that Kubernetes takes.
const MaxLabelValue = 63

// Owner is the DeployItem that objects belong to.
type Owner struct {
	// Item is its name.
	Item string
	// Namespace of the DeployItem.
	Namespace string
	// UID of the DeployItem.
	UID types.UID
	// Releases are the Helm releases that the DeployItem has on the target. Their records say whose they are, unless Gardener Landscaper made them.
	Releases []managedresource.ReleaseReference
	// Labels are put on the objects beside the label of the manifest deployer.
	Labels map[string]string
}

// LabelValue returns the name of a DeployItem as the labels of deployed objects hold it: as it is, or shortened with a hash
// where it is too long for a label.
func LabelValue(item string) string {
	if len(item) <= MaxLabelValue {
		return item
	}
	sum := sha256.Sum256([]byte(item))
	suffix := "x" + hex.EncodeToString(sum[:4])
	return item[:MaxLabelValue-len(suffix)] + suffix
}

// Mark puts the labels and the annotation of the owner on an object. Objects that are to be kept go without the annotation, so
// that they are never found as leftovers.
func (o Owner) Mark(object *unstructured.Unstructured, policy managedresource.ManifestPolicy) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, o.Labels)
	labels[v1alpha1.ManifestDeployItemLabel] = LabelValue(o.Item)
	object.SetLabels(labels)
	if o.Namespace != "" {
		annotate(object, map[string]string{OwnerNamespaceAnnotation: o.Namespace})
	}
	if o.UID != "" && policy != managedresource.KeepPolicy {
		annotate(object, map[string]string{OwnerUIDAnnotation: string(o.UID)})
	}
}

// Marks returns the keys of the labels and annotations that mark an object as this owner's.
func (o Owner) Marks() (labels, annotations []string) {
	labels = append(slices.Sorted(maps.Keys(o.Labels)), v1alpha1.ManifestDeployItemLabel)
	return labels, []string{OwnerNamespaceAnnotation, OwnerUIDAnnotation}
}

// Labelled reports whether an object carries the label of this owner.
func (o Owner) Labelled(object metav1.Object) bool {
	return object.GetLabels()[v1alpha1.ManifestDeployItemLabel] == LabelValue(o.Item)
}

// Proven reports whether an object is certainly this owner's: label and UID are right.
func (o Owner) Proven(object metav1.Object) bool {
	return o.Labelled(object) && o.UID != "" && object.GetAnnotations()[OwnerUIDAnnotation] == string(o.UID)
}

// Claim says who owns an object on a target.
type Claim int

const (
	// unclaimed objects carry no mark of a DeployItem or a Helm release.
	unclaimed Claim = iota
	// own objects are this owner's.
	Own
	// foreign objects are those of another DeployItem, and those with the marks of a Helm release, whose records say more.
	Foreign
)

// ClaimOf reads from the marks of an object who owns it. The label holds only the name, so an annotation with another namespace, or with
// another UID and no namespace, means a DeployItem of the same name from elsewhere.
func (o Owner) ClaimOf(object metav1.Object) Claim {
	label, isLabelled := object.GetLabels()[v1alpha1.ManifestDeployItemLabel]
	uid, namespace := object.GetAnnotations()[OwnerUIDAnnotation], object.GetAnnotations()[OwnerNamespaceAnnotation]
	switch {
	case isLabelled && label != LabelValue(o.Item):
		return Foreign
	case !isLabelled && uid == "":
		_, isOfRelease := helm.ReleaseOn(object)
		return map[bool]Claim{true: Foreign, false: unclaimed}[isOfRelease]
	case namespace != "" && o.Namespace != "":
		return claimIf(namespace == o.Namespace)
	}
	return claimIf(uid == "" || o.UID == "" || uid == string(o.UID))
}

func claimIf(isOwn bool) Claim {
	if isOwn {
		return Own
	}
	return Foreign
}

// Taken reports whether another DeployItem, or one of the same name made anew, has taken an object over since it was recorded.
func (o Owner) Taken(object metav1.Object) bool {
	uid := object.GetAnnotations()[OwnerUIDAnnotation]
	return o.ClaimOf(object) == Foreign || uid != "" && o.UID != "" && uid != string(o.UID)
}

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
