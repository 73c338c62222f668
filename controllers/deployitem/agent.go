// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// targetIndex finds the DeployItems of a Target.
const targetIndex = "pickup/target"

func targetOf(object client.Object) []string {
	if item, ok := object.(*v1alpha1.DeployItem); ok && item.Spec.Target != nil {
		return []string{item.Spec.Target.Name}
	}
	return nil
}

// environmentOf returns the Environment that the Target of an item belongs to, nil when there is none. One whose deployers may not work in the namespace is
// none: whoever writes a Target can name it, and is not to learn of it.
func (r *Reconciler) environmentOf(ctx context.Context, item *v1alpha1.DeployItem) (*v1alpha1.Environment, error) {
	if !r.Environments || item.Spec.Target == nil {
		return nil, nil
	}
	target, env := &v1alpha1.Target{}, &v1alpha1.Environment{}
	err := r.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}, target)
	name := target.Annotations[v1alpha1.EnvironmentAnnotation]
	if err != nil || name == "" {
		return nil, client.IgnoreNotFound(err)
	}
	err = r.Get(ctx, client.ObjectKey{Name: name}, env)
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if waitsForAgent(item) {
		return env, nil // nothing fails because its namespace has gone from the list meanwhile
	}
	if reaches, err := r.Homes.Reaches(ctx, r, env, item.Namespace); !reaches || err != nil {
		return nil, err
	}
	return env, nil
}

// waitsForAgent reports whether an item says that it waits for the agent of its Environment.
func waitsForAgent(item *v1alpha1.DeployItem) bool {
	return conditions.GetReason(item, meta.ReconcilingCondition) == protocol.ReasonAgentUnreachable
}

// awaitAgent reports whether an item waits for the agent of its Environment, and shows that; when the agent is back it takes that back.
func (r *Reconciler) awaitAgent(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) (bool, error) {
	shown := waitsForAgent(item)
	waits := env != nil && !conditions.IsTrue(env, v1alpha1.AgentConnectedCondition)
	switch {
	case waits == shown, waits && !conditions.IsFalse(env, v1alpha1.AgentConnectedCondition):
		return waits, nil
	case waits:
		protocol.Progress(item, protocol.ReasonAgentUnreachable, fmt.Sprintf("the agent of Environment %s is not connected; it goes on when the agent is back", env.Name))
	case env == nil:
		protocol.Progress(item, meta.ProgressingReason, "no Environment is waited for any more")
	default:
		protocol.Progress(item, meta.ProgressingReason, "the agent of the environment is back")
	}
	err := protocol.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return true, nil // the event of what came in between follows
	}
	return waits, err
}

// reasonNoEnvironment says that there is no Environment whose deployers could uninstall an item.
const reasonNoEnvironment = "EnvironmentNotFound"

// tellGone shows, on an item in deletion that no deployer has picked up, that the Environment of its Target is missing: nobody comes then.
func (r *Reconciler) tellGone(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) error {
	if item.DeletionTimestamp.IsZero() || env != nil || item.IsPickedUp() || conditions.GetReason(item, meta.ReconcilingCondition) == reasonNoEnvironment {
		return nil
	}
	about, err := r.aboutEnvironment(ctx, item)
	if about == "" || err != nil {
		return client.IgnoreNotFound(err)
	}
	protocol.Progress(item, reasonNoEnvironment, "no deployer uninstalls this: "+about)
	err = protocol.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // the event of what came in between follows
	}
	return err
}

// aboutEnvironment says what to do where the Target of an item names an Environment that there is not for it; empty where it names none. It tells nobody
// whether there is an Environment that he may not use.
func (r *Reconciler) aboutEnvironment(ctx context.Context, item *v1alpha1.DeployItem) (string, error) {
	if !r.Environments || item.Spec.Target == nil {
		return "", nil
	}
	key, target := client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}, &v1alpha1.Target{}
	err := r.Get(ctx, key, target)
	name := target.Annotations[v1alpha1.EnvironmentAnnotation]
	if err != nil || name == "" {
		return "", err
	}
	about := fmt.Sprintf("annotation %s of Target %s names Environment %s, which does not exist or whose deployers may not work in namespace %s; "+
		"name another one, or have its operators allow the namespace", v1alpha1.EnvironmentAnnotation, key, name, item.Namespace)
	if !item.DeletionTimestamp.IsZero() {
		about += fmt.Sprintf("; to leave what was deployed annotate the Installation %s: \"true\"", v1alpha1.ForceDeleteAnnotation)
	}
	return about, nil
}

// servesInside reports whether an Environment has a deployer of the type of an item that is installed, or came with its agent.
func (r *Reconciler) servesInside(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) (bool, error) {
	if served, err := r.servesByAgent(ctx, item, env); served || err != nil {
		return served, err
	}
	for i := range env.Status.Deployers {
		if !env.Status.Deployers[i].Ready {
			continue
		}
		registration := &v1alpha1.DeployerRegistration{}
		err := r.Get(ctx, client.ObjectKey{Name: env.Status.Deployers[i].Name}, registration)
		if client.IgnoreNotFound(err) != nil {
			return false, err
		}
		if err == nil && slices.Contains(pair.Serves(registration), item.Spec.Type) {
			return true, nil
		}
	}
	return false, nil
}

// servesByAgent reports whether an item is for the helm deployer of the agent: that installs the others, by the Target of the host cluster, which is for
// it alone. It sees the namespace of its Environment only.
func (r *Reconciler) servesByAgent(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) (bool, error) {
	if item.Spec.Type != v1alpha1.HelmDeployItemType || item.Namespace != env.Status.Namespace {
		return false, nil
	}
	target, err := r.targetObject(ctx, item)
	return target != nil && metav1.HasAnnotation(target.ObjectMeta, v1alpha1.DeployerOnlyAnnotation), err
}

// connectedSince returns since when the agent of an Environment, which may be nil, is connected.
func connectedSince(env *v1alpha1.Environment) time.Time {
	if env == nil {
		return time.Time{}
	}
	if connected := conditions.Get(env, v1alpha1.AgentConnectedCondition); connected != nil {
		return connected.LastTransitionTime.Time
	}
	return time.Time{}
}

// waitsSince returns from when on the time for the pick-up of a job counts: when it was requested, or the agent has connected since. Moments that are
// still to come say nothing.
func waitsSince(requested time.Time, env *v1alpha1.Environment, now time.Time) (since time.Time) {
	for _, moment := range []time.Time{requested, connectedSince(env)} {
		if moment.After(since) && !protocol.IsAhead(moment, now) {
			since = moment
		}
	}
	return since
}

// connectionChanged passes the events after which items wait, or wait no longer: of the agent, of the deployers that it speaks for, and of where they work.
var connectionChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return connectionOf(e.ObjectOld) != connectionOf(e.ObjectNew) || !slices.Equal(deployersOf(e.ObjectOld), deployersOf(e.ObjectNew)) ||
		!slices.Equal(namespacesOf(e.ObjectOld), namespacesOf(e.ObjectNew))
}}

// deployersOf returns the names of the deployers of an Environment. One that is not ready may only be upgraded, so that items wait on.
func deployersOf(object client.Object) (names []string) {
	if env, ok := object.(*v1alpha1.Environment); ok {
		for i := range env.Status.Deployers {
			names = append(names, env.Status.Deployers[i].Name)
		}
	}
	return names
}

func namespacesOf(object client.Object) []string {
	if env, ok := object.(*v1alpha1.Environment); ok {
		return env.Spec.Namespaces
	}
	return nil
}

func connectionOf(object client.Object) metav1.ConditionStatus {
	if env, ok := object.(*v1alpha1.Environment); ok {
		if connected := conditions.Get(env, v1alpha1.AgentConnectedCondition); connected != nil {
			return connected.Status
		}
	}
	return ""
}

// itemsOf returns the DeployItems of all Targets of an Environment.
func (r *Reconciler) itemsOf(ctx context.Context, env client.Object) []reconcile.Request {
	targets := &v1alpha1.TargetList{}
	if err := r.List(ctx, targets, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Targets of an Environment", "environment", env.GetName())
	}
	var requests []reconcile.Request
	for i := range targets.Items {
		target := &targets.Items[i]
		if target.Annotations[v1alpha1.EnvironmentAnnotation] != env.GetName() {
			continue
		}
		items := &v1alpha1.DeployItemList{}
		err := r.List(ctx, items, client.InNamespace(target.Namespace), client.MatchingFields{targetIndex: target.Name}, client.UnsafeDisableDeepCopy)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find the DeployItems of a Target", "target", target.Name)
		}
		for j := range items.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&items.Items[j])})
		}
	}
	return requests
}
