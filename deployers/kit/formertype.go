// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// FormerType returns the type of which the last job of an item was, when spec.type is another one now; else "".
func FormerType(item *v1alpha1.DeployItem) string {
	if by := item.Status.Deployer; by != nil && by.Type != item.Spec.Type {
		return by.Type
	}
	return ""
}

// TypeChanged says what to do about an item whose type is not the former one any more. An Execution sets the type of its items back with its next job.
func TypeChanged(item *v1alpha1.DeployItem, former string) error {
	cure := "set spec.type back, annotate " + v1alpha1.OperationAnnotation + "=" + v1alpha1.OperationTestReconcile + " to try again"
	if ControllerOf(item, "Execution") != nil {
		cure = "annotate its root Installation " + v1alpha1.OperationAnnotation + "=" + v1alpha1.OperationReconcile + ", which sets spec.type back"
	}
	then := ". For another type delete the DeployItem then and make another one"
	if !item.DeletionTimestamp.IsZero() {
		then = ", or annotate the DeployItem " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true to leave it there"
	}
	return fmt.Errorf("spec.type was %s before, and only a deployer of that type can uninstall what it has deployed: %s%s", former, cure, then)
}
