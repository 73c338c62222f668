// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// OwnerUIDAnnotation, on deployed objects, is the UID of the DeployItem that owns them. It tells items of the same name in
// different namespaces apart; the labels only hold the name. It is an addition to the existing API.
const OwnerUIDAnnotation = "manifest.deployer.landscaper.gardener.cloud/deployitem-uid"

// maxLabelValue is the longest label value that Kubernetes takes.
const maxLabelValue = 63

// Owner is the DeployItem that objects belong to.
type Owner struct {
	// Item is its name.
	Item string
	// UID of the DeployItem.
	UID types.UID
	// Labels are put on the objects beside the label of the manifest deployer.
	Labels map[string]string
}

// LabelValue returns the name of a DeployItem as the labels of deployed objects hold it: as it is, or shortened with a hash
// where it is too long for a label.
func LabelValue(item string) string {
	if len(item) <= maxLabelValue {
		return item
	}
	sum := sha256.Sum256([]byte(item))
	suffix := "x" + hex.EncodeToString(sum[:4])
	return item[:maxLabelValue-len(suffix)] + suffix
}

// mark puts the labels and the annotation of the owner on an object. Objects that are to be kept go without the annotation, so
// that they are never found as leftovers.
func (o Owner) mark(object *unstructured.Unstructured, policy managedresource.ManifestPolicy) {
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, o.Labels)
	labels[v1alpha1.ManifestDeployItemLabel] = LabelValue(o.Item)
	object.SetLabels(labels)
	if o.UID != "" && policy != managedresource.KeepPolicy {
		annotate(object, map[string]string{OwnerUIDAnnotation: string(o.UID)})
	}
}

// labelled tells whether an object carries the label of this owner.
func (o Owner) labelled(object *unstructured.Unstructured) bool {
	return object.GetLabels()[v1alpha1.ManifestDeployItemLabel] == LabelValue(o.Item)
}

// proven tells whether an object is certainly this owner's: label and UID are right.
func (o Owner) proven(object *unstructured.Unstructured) bool {
	return o.labelled(object) && o.UID != "" && object.GetAnnotations()[OwnerUIDAnnotation] == string(o.UID)
}

// foreign tells whether another DeployItem has taken an object over.
func (o Owner) foreign(object *unstructured.Unstructured) bool {
	label, marked := object.GetLabels()[v1alpha1.ManifestDeployItemLabel]
	if marked && label != LabelValue(o.Item) {
		return true
	}
	uid := object.GetAnnotations()[OwnerUIDAnnotation]
	return uid != "" && o.UID != "" && uid != string(o.UID)
}

// annotate adds annotations to an object; they win over those it has.
func annotate(object *unstructured.Unstructured, annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	merged := object.GetAnnotations()
	if merged == nil {
		merged = map[string]string{}
	}
	maps.Copy(merged, annotations)
	object.SetAnnotations(merged)
}
