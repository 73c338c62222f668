// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"

	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// HasLostRecord reports whether somebody has removed the status of an item, which recorded what earlier jobs have deployed, and no job has
// succeeded since. A deployer then looks on the target for what carries the marks of the item, in Ensure and in Delete.
func HasLostRecord(item *v1alpha1.DeployItem) bool {
	return conditions.IsTrue(item, v1alpha1.RecordLostCondition)
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
