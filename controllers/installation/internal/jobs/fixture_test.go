// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// leaving lets an Installation be in deletion.
func leaving(inst *v1alpha1.Installation) *v1alpha1.Installation {
	inst.DeletionTimestamp, inst.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{v1alpha1.Finalizer}
	return inst
}
