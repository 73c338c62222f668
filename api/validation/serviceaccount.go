// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// IsServiceAccountName reports whether a text is the name of a ServiceAccount: without a namespace, because only those of the own one are used.
func IsServiceAccountName(name string) bool {
	return len(validation.ValidateServiceAccountName(name, false)) == 0
}

// serviceAccount returns what is wrong with the name of a ServiceAccount; it may be left out.
func serviceAccount(name string, path *field.Path) field.ErrorList {
	if name == "" || IsServiceAccountName(name) {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "is not a valid name of a ServiceAccount; give the name alone: it is one of the same namespace")}
}
