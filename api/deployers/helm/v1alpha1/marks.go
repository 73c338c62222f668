// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// What Helm puts on the objects of a release, see https://helm.sh/docs/chart_best_practices/labels.
const (
	ManagedByLabel             = "app.kubernetes.io/managed-by"
	ManagedByHelm              = "Helm"
	ReleaseNameAnnotation      = "meta.helm.sh/release-name"
	ReleaseNamespaceAnnotation = "meta.helm.sh/release-namespace"
)

// OwnerNamespaceLabel, on the records of a release, is the namespace of the DeployItem that the release belongs to. Its name stands in the label
// v1alpha1.HelmDeployItemLabel. It is an addition to the API of Gardener Landscaper.
const OwnerNamespaceLabel = "helm.deployer.landscaper.gardener.cloud/deployitem-namespace"

// ReleaseOn returns the release that the annotations of an object name; false if they name none.
func ReleaseOn(object metav1.Object) (managedresource.ReleaseReference, bool) {
	annotations := object.GetAnnotations()
	release := managedresource.ReleaseReference{Name: annotations[ReleaseNameAnnotation], Namespace: annotations[ReleaseNamespaceAnnotation]}
	return release, release.Name != "" && release.Namespace != ""
}
