// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package data

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Indexes of DataObjects and Targets.
const (
	// ScopeIndex finds those of a scope.
	ScopeIndex = "scope"
	// ExporterIndex finds those that an Installation exported.
	ExporterIndex = "exported-by"
)

// RetiredAnnotation marks the copy of a Target that is no import any more. It stays until the job has succeeded: what sub-installations have
// deployed there is uninstalled with it.
const RetiredAnnotation = "landscaper.gardener.cloud/retired"

// Retired reports whether the copy of a Target is no import any more.
func Retired(object client.Object) bool { return object.GetAnnotations()[RetiredAnnotation] != "" }

// ScopeOfData indexes DataObjects and Targets by the scope that they belong to.
func ScopeOfData(obj client.Object) []string {
	if scope := obj.GetLabels()[v1alpha1.DataObjectContextLabel]; scope != "" {
		return []string{scope}
	}
	return nil
}

// OtherOwner returns the reference to an Installation other than this one that owns the object, nil when there is none.
func OtherOwner(object client.Object, inst *v1alpha1.Installation) *metav1.OwnerReference {
	references := object.GetOwnerReferences()
	for i := range references {
		if references[i].Kind == "Installation" && references[i].UID != inst.UID {
			return &references[i]
		}
	}
	return nil
}

// IsFormerExport reports whether a Target is only kept for uninstalling.
func IsFormerExport(target *v1alpha1.Target) bool {
	return !target.DeletionTimestamp.IsZero() && target.Labels[v1alpha1.DataObjectSourceTypeLabel] == v1alpha1.DataObjectSourceExport
}

// ExportedBy indexes DataObjects and Targets by the Installation that exported them.
func ExportedBy(obj client.Object) []string {
	if obj.GetLabels()[v1alpha1.DataObjectSourceTypeLabel] != v1alpha1.DataObjectSourceExport {
		return nil
	}
	return []string{obj.GetLabels()[v1alpha1.DataObjectSourceLabel]}
}
