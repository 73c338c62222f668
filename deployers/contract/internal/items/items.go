// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package items decides about DeployItems from what they say themselves: what is asked for, what a job writes into their status. It is pure, and
// knows nothing of what the process remembers.
package items

import (
	"strings"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// IsDeleting reports whether an item is in deletion.
func IsDeleting(item *v1alpha1.DeployItem) bool { return !item.DeletionTimestamp.IsZero() }

// TargetName returns the name of the item's Target, empty when it has none.
func TargetName(item *v1alpha1.DeployItem) string {
	if name := item.Annotations[v1alpha1.DeployerTargetNameAnnotation]; name != "" && name != v1alpha1.NoTargetName {
		return name
	}
	if item.Spec.Target == nil {
		return ""
	}
	return item.Spec.Target.Name
}

// TestJob is how IDs of jobs begin that the test annotation asked for.
const TestJob = "test-"

// IsTestJob reports whether the test annotation asked for the job of an ID.
func IsTestJob(id string) bool { return strings.HasPrefix(id, TestJob) }

// IsTestRequested reports whether the test annotation asks for a job.
func IsTestRequested(item *v1alpha1.DeployItem) bool {
	return item.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationTestReconcile
}

// IsGuarded reports whether status says that Flux keeps the test annotation of an item.
func IsGuarded(item *v1alpha1.DeployItem) bool {
	return conditions.Has(item, kit.OperationInGitCondition) && !kit.IsInterruptKnown(item)
}

// LacksFinalizer reports whether an idle item that the named deployer has begun to deploy is without the finalizer that its deletion waits for. Without
// an Execution above nobody would give a deletion the job that takes the finalizer off again.
func LacksFinalizer(item *v1alpha1.DeployItem, deployer string) bool {
	by := item.Status.Deployer
	return by != nil && by.Name == deployer && item.Job().IsIdle() && !IsDeleting(item) && kit.ControllerOf(item, "Execution") != nil &&
		!controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer) && item.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] != "true"
}

// MayRepeat reports whether an item may get a job of its own: it has had one, for its present spec, and stays. An interrupt that is still there was for
// the last job, and would end the next one.
func MayRepeat(item *v1alpha1.DeployItem) bool {
	return hasHadJob(item) && !kit.IsInterruptDue(item)
}

// hasHadJob reports whether the last job of an idle item that stays was for its present spec and type.
func hasHadJob(item *v1alpha1.DeployItem) bool {
	return item.Job().IsIdle() && !IsDeleting(item) && item.Status.JobID != "" && item.Status.ObservedGeneration == item.Generation &&
		item.Status.LastReconcileTime != nil && kit.FormerType(item) == ""
}

// IsAtRest reports whether what an item says is what its last job has deployed.
func IsAtRest(item *v1alpha1.DeployItem) bool {
	return hasHadJob(item) && item.Status.Phase == v1alpha1.PhaseSucceeded && !IsTestRequested(item)
}

// GoneAfter returns for how long the clusters of an item in deletion have to be gone until it is given up; 0 is for ever.
func GoneAfter(item *v1alpha1.DeployItem) time.Duration {
	if !IsDeleting(item) || item.Spec.OnDelete == nil || item.Spec.OnDelete.TargetGone == nil {
		return 0
	}
	return item.Spec.OnDelete.TargetGone.After.Duration
}
