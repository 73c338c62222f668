// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// loss is a child that is not as the last job left it.
type loss struct {
	// reason is kit.ReasonChildLost, kit.ReasonContinuousFailed where the child is there and its deploy items have failed by the clock, or
	// kit.ReasonExportLost.
	reason string
	// missing is the child to look for before anybody is told; nil where the loss is known.
	missing client.Object
	message string
}

// lossOf returns what an idle Installation that has succeeded has lost since, itself or further down; nil when nothing.
func lossOf(inst *v1alpha1.Installation, execution *v1alpha1.Execution, children map[string]*v1alpha1.Installation) *loss {
	if inst.Status.Phase != v1alpha1.PhaseSucceeded {
		return nil
	}
	if inst.Status.ExecutionReference != nil && (execution == nil || !execution.DeletionTimestamp.IsZero()) {
		return lossAt(inst, "execution", inst.Name, &v1alpha1.Execution{}, execution == nil)
	}
	if execution != nil {
		if ready := readyOf(execution); isLoss(ready.Reason) {
			return &loss{reason: ready.Reason, message: ready.Message}
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
		if ready := readyOf(child); isLoss(ready.Reason) {
			return &loss{reason: ready.Reason, message: pair.ObjectName + ": " + ready.Message}
		}
	}
	return nil
}

func isLoss(reason string) bool {
	return reason == kit.ReasonChildLost || reason == kit.ReasonContinuousFailed || reason == kit.ReasonExportLost
}

// readyOf returns the condition Ready, an empty one where there is none.
func readyOf(obj conditions.Getter) metav1.Condition {
	if ready := conditions.Get(obj, meta.ReadyCondition); ready != nil {
		return *ready
	}
	return metav1.Condition{}
}

// lossAt describes the loss of a child by its kind and name.
func lossAt(inst *v1alpha1.Installation, kind, name string, object client.Object, missing bool) *loss {
	found := &loss{reason: kit.ReasonChildLost, message: fmt.Sprintf("%s %s was deleted, and what it had deployed may be gone: annotate the root %s=reconcile to deploy it again",
		kind, name, v1alpha1.OperationAnnotation)}
	if missing {
		object.SetName(name)
		object.SetNamespace(inst.Namespace)
		found.missing = object
	}
	return found
}

// findLoss returns what an idle Installation has lost; nil when nothing.
func (r *Reconciler) findLoss(ctx context.Context, s *scope) (*loss, error) {
	if found := lossOf(s.inst, s.execution, s.children); found != nil {
		return found, nil
	}
	lost, err := r.lostExport(ctx, s.inst)
	if lost == "" || err != nil {
		return nil, err
	}
	return &loss{reason: kit.ReasonExportLost, message: lost + " was deleted, which this installation exports: the next job of the root exports it again"}, nil
}

// showLoss makes an idle Installation that has lost a child Stalled and not Ready, and takes that back. The phase stays that of the last job, and
// no job starts: whoever deleted the child may have meant it. Deploy items that have failed by the clock, and exports that are gone, make it not
// Ready and Reconciling, as the clock tries again and the root exports again. A cache may be behind, so that a child that it does not show is looked for.
func (r *Reconciler) showLoss(ctx context.Context, s *scope) (shown bool, err error) {
	before := isLoss(readyOf(s.inst).Reason)
	found, err := r.findLoss(ctx, s)
	if err != nil {
		return false, err
	}
	if found == nil {
		if before {
			conditions.Delete(s.inst, meta.StalledCondition)
			conditions.Delete(s.inst, meta.ReconcilingCondition)
			s.restoreReady()
		}
		return false, nil
	}
	if found.missing != nil && !before {
		err := r.Live.Get(ctx, client.ObjectKeyFromObject(found.missing), found.missing)
		if !apierrors.IsNotFound(err) {
			return false, err
		}
	}
	kit.ShowFailure(s.inst, &kit.Failure{
		Kind: kit.Stalled, Operation: operation, Reason: found.reason, Heals: found.reason != kit.ReasonChildLost, Err: errors.New(found.message),
	})
	if s.inst.IsRoot() && s.inst.Spec.Suspend {
		s.inst.Status.ObservedGeneration = s.inst.Generation // as that of every suspended one is
	}
	return true, nil
}
