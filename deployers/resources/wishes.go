// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// Names of the annotations below the prefixes of package managedresource.
const (
	wishPrune     = "prune"
	wishReconcile = "reconcile"
	wishSSA       = "ssa"
	wishForce     = "force"
)

// Values of prune, reconcile and force.
const (
	disabled = "disabled"
	enabled  = "enabled"
)

// wishes is what an object asks for by annotations or labels, on the manifest and on the target.
type wishes struct {
	// aside says that the object is neither created nor changed, and not waited for.
	aside bool
	// once says that the object is created and never changed.
	once bool
	// override says that fields are taken over from other managers, merge that those which the manifest does not have stay.
	override, merge bool
	// recreate says that the object may be deleted and made anew.
	recreate bool
}

// wishesOf reads what an object asks for. Live is nil for an object that is not there. The annotations of Flux count in the strategy that works
// as Flux does: with the others, manifests that carry them for somebody else mean what they always did.
func wishesOf(strategy managedresource.UpdateStrategy, manifest, live *unstructured.Unstructured) wishes {
	prefixes := []string{managedresource.Annotations}
	if strategy == managedresource.UpdateStrategyApply {
		prefixes = append(prefixes, managedresource.FluxAnnotations)
	}
	asks := func(name, value string) bool {
		return isMarked(manifest, name, value, prefixes...) || live != nil && isMarked(live, name, value, prefixes...)
	}
	return wishes{
		aside:    asks(wishReconcile, disabled) || asks(wishSSA, managedresource.SSAIgnore),
		once:     asks(wishSSA, managedresource.SSAIfNotPresent),
		override: asks(wishSSA, managedresource.SSAOverride),
		merge:    asks(wishSSA, managedresource.SSAMerge),
		recreate: asks(wishForce, enabled),
	}
}

// isKept reports whether an object on the target must not be deleted. That Flux is not to reconcile an object counts where it was applied as
// Flux does.
func isKept(live *unstructured.Unstructured) bool {
	return isMarked(live, wishPrune, disabled, managedresource.Annotations, managedresource.FluxAnnotations) ||
		isMarked(live, wishReconcile, disabled, managedresource.Annotations) ||
		isMarked(live, wishReconcile, disabled, managedresource.FluxAnnotations) && isApplied(live)
}

func isMarked(object *unstructured.Unstructured, name, value string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.EqualFold(object.GetAnnotations()[prefix+name], value) || strings.EqualFold(object.GetLabels()[prefix+name], value) {
			return true
		}
	}
	return false
}
