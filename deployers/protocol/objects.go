// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ControllerOf returns the reference to the object of our API group that controls an object, if it is of the given kind; else nil. Kinds of
// other groups may have the same name.
func ControllerOf(obj metav1.Object, kind string) *metav1.OwnerReference {
	owner := metav1.GetControllerOf(obj)
	if owner == nil || owner.Kind != kind || schema.FromAPIVersionAndKind(owner.APIVersion, kind).Group != v1alpha1.GroupName {
		return nil
	}
	return owner
}

// WakeController returns the handler that wakes the object of our API group that controls another one, if it is of the given kind. That of
// controller-runtime asks with each event whether the kind has namespaces, which allocates several KiB; ours all have.
func WakeController(kind string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []reconcile.Request {
		owner := ControllerOf(obj, kind)
		if owner == nil {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name}}}
	})
}

// InForeground reports whether the garbage collector deletes the dependents of an object, as kubectl delete --cascade=foreground asks it to: at
// once, level by level, and in no order.
func InForeground(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// IsOrphaning reports whether the garbage collector is taking an object out of the owners of its dependents, as kubectl delete --cascade=orphan asks
// it to. Until that is done nobody knows which of them are to stay.
func IsOrphaning(obj client.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && slices.Contains(obj.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

// IsHeldBack reports whether a child that is deleted in the foreground has to wait until its Installation is ready to go, which may wait for others
// that import from it. The Installation gives leave by the annotation with its deletion job.
func IsHeldBack(child client.Object, parent *v1alpha1.Installation) bool {
	if parent == nil || parent.DeletionTimestamp.IsZero() || !InForeground(child) || !slices.Contains(parent.Finalizers, v1alpha1.Finalizer) {
		return false
	}
	return !parent.Status.Phase.IsDeletion() || child.GetAnnotations()[v1alpha1.JobAnnotation] != parent.Status.JobID
}

// inherited are the annotations that an Installation passes on to everything that it makes.
var inherited = []string{v1alpha1.CacheHelmChartsAnnotation}

// Inherit returns, in the form of MetadataChange.Annotations, what a child has to take over from its parent: each inherited annotation
// with its value, or nil where the parent does not have it (any more).
func Inherit(parent metav1.Object) map[string]*string {
	changes := map[string]*string{}
	for _, name := range inherited {
		if value, ok := parent.GetAnnotations()[name]; ok {
			changes[name] = &value
		} else {
			changes[name] = nil
		}
	}
	return changes
}

// SetInherited gives a child in memory the inherited annotations of its parent and removes those that the parent does not have.
func SetInherited(parent, child metav1.Object) {
	annotations := child.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for name, value := range Inherit(parent) {
		if value == nil {
			delete(annotations, name)
		} else {
			annotations[name] = *value
		}
	}
	child.SetAnnotations(annotations)
}

// ShardLabel assigns an object to one shard of controllers, as in every Flux controller. Children inherit it.
const ShardLabel = "sharding.fluxcd.io/key"

// Shard selects the objects that a process brings on. Every process reads the objects of all shards, because data, Targets and
// order connect them: what is not in the own shard is still there.
type Shard struct {
	// Selector is the label selector of the process; nil selects all.
	Selector labels.Selector
}

// Has reports whether the process brings an object on.
func (s Shard) Has(object metav1.Object) bool {
	return s.Selector == nil || s.Selector.Matches(labels.Set(object.GetLabels()))
}

// FollowShard returns the change that brings a child into the shard of its parent. It changes nothing where both are in the same.
func FollowShard(parent, child metav1.Object) MetadataChange {
	wanted, has := parent.GetLabels()[ShardLabel]
	present, had := child.GetLabels()[ShardLabel]
	switch {
	case has == had && wanted == present:
		return MetadataChange{}
	case has:
		return MetadataChange{Labels: map[string]*string{ShardLabel: &wanted}}
	}
	return MetadataChange{Labels: map[string]*string{ShardLabel: nil}}
}

// Empty reports whether a change changes nothing.
func (m MetadataChange) Empty() bool {
	return m.AddFinalizer == "" && m.RemoveFinalizer == "" && len(m.Annotations)+len(m.Labels) == 0
}

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
