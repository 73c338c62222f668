// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"context"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// OperationInGitCondition is True while Flux keeps an operation annotation on an object. Its message names the cure.
const OperationInGitCondition = "OperationInGit"

// Reasons of that condition and of the event when it begins.
const (
	// ReasonLoopGuard is that of operations that start a job.
	ReasonLoopGuard = "LoopGuard"
	// ReasonInterruptInGit is that of an interrupt of an Installation, or of a DeployItem without an Execution.
	ReasonInterruptInGit = "InterruptInGit"
)

// InterruptInGitMessage says what an interrupt in Git means, and the cure.
const InterruptInGitMessage = "the annotation " + v1alpha1.OperationAnnotation + ": " + v1alpha1.OperationInterrupt + " is kept in Git: it ends the job that runs when " +
	"it comes, and no later one. Remove it in Git; to end a job by hand set it without Flux"

// IsInterruptKnown reports whether the status of an object says that Flux keeps an interrupt on it: it has ended the job that ran when it came, and
// means nothing to later ones.
func IsInterruptKnown(obj conditions.Getter) bool {
	return conditions.GetReason(obj, OperationInGitCondition) == ReasonInterruptInGit
}

// IsInterruptDue reports whether a DeployItem asks by its annotation that its job ends. Of the items of an Execution the Execution ends the jobs.
func IsInterruptDue(item *v1alpha1.DeployItem) bool {
	return item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationInterrupt && !IsInterruptKnown(item) && ControllerOf(item, "Execution") == nil
}

// IsAppliedByFlux reads live, because caches hold no managed fields, whether Flux applies an annotation of an object of our API group. Flux
// would put it back at every sync.
func IsAppliedByFlux(ctx context.Context, live client.Reader, obj client.Object, kind, annotation string) (bool, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	if err := live.Get(ctx, client.ObjectKeyFromObject(obj), found); err != nil {
		return false, err
	}
	for _, entry := range found.ManagedFields {
		if entry.Operation == metav1.ManagedFieldsOperationApply && isFluxManager(entry.Manager) && entry.FieldsV1 != nil &&
			strings.Contains(entry.FieldsV1.GetRawString(), "\"f:"+annotation+"\"") {
			return true, nil
		}
	}
	return false, nil
}

func isFluxManager(manager string) bool {
	return manager == "kustomize-controller" || manager == "helm-controller" || strings.HasPrefix(manager, "flux")
}

// ownerLabels are set by Flux on everything that it applies and may prune.
var ownerLabels = []string{"kustomize.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/name"}

// IsOwnedByFlux reports whether Flux applies an object, and therefore puts back what others change of it, or prunes it.
func IsOwnedByFlux(obj client.Object) bool {
	return slices.ContainsFunc(ownerLabels, func(label string) bool { return obj.GetLabels()[label] != "" })
}
