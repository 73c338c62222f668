// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// maxWarnings is how many fields are named; API servers cut warnings that are longer together.
const maxWarnings = 10

// InstallationWarnings returns a sentence for each field of the spec that is accepted from manifests of Gardener Landscaper and has no effect,
// at most ten.
func InstallationWarnings(inst *v1alpha1.Installation) []string {
	var warnings []string
	warn := func(at *field.Path, instead string) {
		if len(warnings) < maxWarnings {
			warnings = append(warnings, fmt.Sprintf("%s has no effect: %s", at, instead))
		}
	}
	spec := field.NewPath("spec")
	imports := spec.Child("imports")
	for i, data := range inst.Spec.Imports.Data {
		at := imports.Child("data").Index(i)
		if data.Version != "" {
			warn(at.Child("version"), "remove it")
		}
		if ref := data.SecretRef; ref != nil && ref.Namespace != "" && ref.Namespace != inst.Namespace {
			warn(at.Child("secretRef", "namespace"), "the Secret is read from the namespace of the Installation; copy it there")
		}
		if ref := data.ConfigMapRef; ref != nil && ref.Namespace != "" && ref.Namespace != inst.Namespace {
			warn(at.Child("configMapRef", "namespace"), "the ConfigMap is read from the namespace of the Installation; copy it there")
		}
	}
	if descriptors := inst.Spec.Imports.ComponentDescriptors; descriptors != nil && len(descriptors.RawMessage) > 0 {
		warn(imports.Child("componentDescriptors"), "name the component in spec.componentDescriptor")
	}
	if inst.Spec.Optimization != nil {
		warn(spec.Child("optimization"), "siblings are found by an index; remove it")
	}
	return warnings
}
