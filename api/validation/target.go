// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Target returns everything that is wrong with a Target. A Target without content is a marker, and fine. No message shows content.
func Target(target *v1alpha1.Target) field.ErrorList {
	spec := field.NewPath("spec")
	problems := serviceAccount(target.Spec.ServiceAccountName, spec.Child("serviceAccountName"))
	if target.Spec.Configuration != nil && target.Spec.SecretRef != nil {
		problems = append(problems, field.Forbidden(spec, "give either config or secretRef, not both"))
	}
	return told(problems)
}
