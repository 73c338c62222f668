// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// Values of the annotations prune, reconcile and force.
const (
	disabled = "disabled"
	Enabled  = "enabled"
)

// Options are what an object asks for by annotations or labels, on the manifest and on the target.
type Options struct {
	// Skip says that the object is neither created nor changed, and not waited for.
	Skip bool
	// Once says that the object is created and never changed.
	Once bool
	// Override says that fields are taken over from other managers, merge that those which the manifest does not have stay.
	Override, Merge bool
	// Recreate says that the object may be deleted and made anew.
	Recreate bool
}

// OptionsOf reads what an object asks for. Live is nil for an object that is not there. The annotations of Flux count in the strategy that works
// as Flux does: with the others, manifests that carry them for somebody else mean what they always did.
func OptionsOf(strategy managedresource.UpdateStrategy, manifest, live *unstructured.Unstructured) Options {
	prefixes := []string{managedresource.Annotations}
	if strategy == managedresource.UpdateStrategyApply {
		prefixes = append(prefixes, managedresource.FluxAnnotations)
	}
	asks := func(name, value string) bool {
		return isMarked(manifest, name, value, prefixes...) || live != nil && isMarked(live, name, value, prefixes...)
	}
	return Options{
		Skip:     asks("reconcile", disabled) || asks("ssa", managedresource.SSAIgnore),
		Once:     asks("ssa", managedresource.SSAIfNotPresent),
		Override: asks("ssa", managedresource.SSAOverride),
		Merge:    asks("ssa", managedresource.SSAMerge),
		Recreate: asks("force", Enabled),
	}
}

// IsKept reports whether an object on the target must not be deleted. That Flux is not to reconcile an object counts where it was applied as
// Flux does.
func IsKept(live *unstructured.Unstructured) bool {
	return isMarked(live, "prune", disabled, managedresource.Annotations, managedresource.FluxAnnotations) ||
		isMarked(live, "reconcile", disabled, managedresource.Annotations) ||
		isMarked(live, "reconcile", disabled, managedresource.FluxAnnotations) && IsApplied(live)
}

func isMarked(object *unstructured.Unstructured, name, value string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.EqualFold(object.GetAnnotations()[prefix+name], value) || strings.EqualFold(object.GetLabels()[prefix+name], value) {
			return true
		}
	}
	return false
}
