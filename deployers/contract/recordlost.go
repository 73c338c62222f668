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

// CannotLook explains why the deletion of an item that has lost its record does not end: its target cannot be searched.
func CannotLook(cause error) error {
	return fmt.Errorf("the status that recorded what was deployed is lost, and the target cannot be searched for it: %w; make the Target lead there again, "+
		"or annotate the DeployItem %s: \"true\" to leave there what it has deployed", cause, v1alpha1.DeleteWithoutUninstallAnnotation)
}
