// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"

	"github.com/fluxcd/pkg/runtime/conditions"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// HasLostRecord reports whether somebody has removed the status of an item, which recorded what earlier jobs have deployed, and no job has
// succeeded since. A deployer then looks on the target for what carries the marks of the item, in Ensure and in Delete.
func HasLostRecord(item *v1alpha1.DeployItem) bool {
	return conditions.IsTrue(item, v1alpha1.RecordLostCondition)
}

// noteLost notes that an item has lost its record: its finalizer says that it has had a job, its status does not. It looks at items without an Execution
// only: an Execution makes its items with finalizer, and notes by itself what they lose.
func noteLost(item *v1alpha1.DeployItem) {
	if kit.ControllerOf(item, "Execution") == nil && controllerutil.ContainsFinalizer(item, v1alpha1.Finalizer) && kit.IsUntouched(item) {
		kit.MarkRecordLost(item)
	}
}

// CannotLook adds to the cause for which the deletion of an item does not end what to do where the item has lost its record: its target cannot be
// searched then. Other causes, and none, stay as they are.
func CannotLook(item *v1alpha1.DeployItem, cause error) error {
	if cause == nil || !HasLostRecord(item) {
		return cause
	}
	return fmt.Errorf("the status that recorded what was deployed is lost, and the target cannot be searched for it: %w; make the Target lead there again, "+
		"or annotate the DeployItem %s: \"true\" to leave there what it has deployed", cause, v1alpha1.DeleteWithoutUninstallAnnotation)
}
