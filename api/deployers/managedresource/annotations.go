// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

// Annotations, or labels, by which a single object asks for something else than the configuration says. They count on the manifest and on the
// object on the target, in any update strategy. The values are not case-sensitive.
const (
	// PruneAnnotation, set to "disabled", keeps the object from being deleted.
	PruneAnnotation = "manifest.deployer.landscaper.gardener.cloud/prune"
	// ReconcileAnnotation, set to "disabled", keeps the object from being created, changed and deleted, and from being waited for.
	ReconcileAnnotation = "manifest.deployer.landscaper.gardener.cloud/reconcile"
	// SSAAnnotation is one of the SSA constants.
	SSAAnnotation = "manifest.deployer.landscaper.gardener.cloud/ssa"
	// ForceAnnotation, set to "enabled", allows the object to be deleted and created anew when a field cannot be changed.
	ForceAnnotation = "manifest.deployer.landscaper.gardener.cloud/force"
)

// Values of SSAAnnotation.
const (
	// SSAOverride takes fields over that others have set, whatever onConflict says. Only updateStrategy apply knows it.
	SSAOverride = "Override"
	// SSAMerge keeps fields that the manifest does not have, also those of kubectl and of earlier update strategies. Only updateStrategy apply
	// knows it.
	SSAMerge = "Merge"
	// SSAIfNotPresent creates the object and never changes it.
	SSAIfNotPresent = "IfNotPresent"
	// SSAIgnore neither creates nor changes the object, and does not wait for it.
	SSAIgnore = "Ignore"
)

// FluxAnnotations is the prefix of the annotations prune, reconcile, ssa and force of a Flux Kustomization. Prune counts in any update strategy,
// the others in updateStrategy apply.
const FluxAnnotations = "kustomize.toolkit.fluxcd.io/"

// Annotations is the prefix of the annotations of this package.
const Annotations = "manifest.deployer.landscaper.gardener.cloud/"
