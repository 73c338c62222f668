// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ControllerOf returns the reference to the object of our API group that controls an object, if it is of the given kind; else nil. Kinds of
// other groups may have the same name.
func ControllerOf(obj metav1.Object, kind string) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != kind || schema.FromAPIVersionAndKind(owner.APIVersion, kind).Group != v1alpha1.GroupName {
		return nil
	}
	return owner
}
