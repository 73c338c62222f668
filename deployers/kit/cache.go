// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StripManagedFields is a cache transform: managed fields take more memory than the objects and no reconciler reads them
// from a cache.
func StripManagedFields(obj any) (any, error) {
	if accessor, ok := obj.(metav1.Object); ok {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
