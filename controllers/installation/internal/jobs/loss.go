// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Loss is a child that is not as the last job left it.
type Loss struct {
	// Reason is kit.ReasonChildLost, kit.ReasonContinuousFailed where the child is there and its deploy items have failed by the clock, or
	// kit.ReasonExportLost.
	Reason string
	// Missing is the child to look for before anybody is told; nil where the loss is known.
	Missing client.Object
	Message string
	// Disowned is the message for the case that the missing child is there, but does not belong to the Installation any more.
	Disowned string
}

// LossOf returns what an idle Installation that has succeeded has lost since, itself or further down; nil when nothing.
func LossOf(inst *v1alpha1.Installation, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) *Loss {
	if inst.Status.Phase != v1alpha1.PhaseSucceeded {
		return nil
	}
	if inst.Status.ExecutionReference != nil && (execution == nil || !execution.DeletionTimestamp.IsZero()) {
		return lossAt(inst, "execution", inst.Name, &v1alpha1.Execution{}, execution == nil)
	}
	if execution != nil {
		if ready := ReadyOf(execution); IsLoss(ready.Reason) {
			return &Loss{Reason: ready.Reason, Message: ready.Message}
		}
	}
	if inst.Status.SubInstCache == nil {
		return nil
	}
	for _, pair := range inst.Status.SubInstCache.ActiveSubs {
		child := children[pair.ObjectName]
		if child == nil || !child.DeletionTimestamp.IsZero() {
			return lossAt(inst, "sub-installation", pair.ObjectName, &v1alpha1.Installation{}, child == nil)
		}
		if ready := ReadyOf(child); IsLoss(ready.Reason) {
			return &Loss{Reason: ready.Reason, Message: pair.ObjectName + ": " + ready.Message}
		}
	}
	return nil
}

// IsLoss reports whether a reason of the condition Ready says that something was lost.
func IsLoss(reason string) bool {
	return reason == kit.ReasonChildLost || reason == kit.ReasonContinuousFailed || reason == kit.ReasonExportLost
}

// ReadyOf returns the condition Ready, an empty one where there is none.
func ReadyOf(obj conditions.Getter) metav1.Condition {
	if ready := conditions.Get(obj, meta.ReadyCondition); ready != nil {
		return *ready
	}
	return metav1.Condition{}
}

// lossAt describes the loss of a child by its kind and name.
func lossAt(inst *v1alpha1.Installation, kind, name string, object client.Object, missing bool) *Loss {
	found := &Loss{Reason: kit.ReasonChildLost, Message: fmt.Sprintf("%s %s was deleted, and what it had deployed may be gone: annotate the root %s=reconcile to deploy it again",
		kind, name, v1alpha1.OperationAnnotation)}
	if missing {
		object.SetName(name)
		object.SetNamespace(inst.Namespace)
		found.Missing = object
		found.Disowned = fmt.Sprintf("%s %s does not belong to this installation any more, because its owner reference was removed or changed: put that back, or "+
			"delete it and annotate the root %s=reconcile to deploy it again", kind, name, v1alpha1.OperationAnnotation)
	}
	return found
}
