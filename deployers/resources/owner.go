// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
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
		fields.Annotate(object, map[string]string{OwnerNamespaceAnnotation: o.Namespace})
	}
	if o.UID != "" && policy != managedresource.KeepPolicy {
		fields.Annotate(object, map[string]string{OwnerUIDAnnotation: string(o.UID)})
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
