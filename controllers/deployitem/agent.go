// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
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

const (
	// leaseDuration is for how long a Lease holds that does not say it; minLease and maxLease bound what it says.
	leaseDuration      = time.Minute
	minLease, maxLease = 5 * time.Second, 10 * time.Minute
	// confirmTimeout is how long the API server may take to say what it has of a Lease.
	confirmTimeout = 10 * time.Second
)

// sightings are the versions of Leases by the own clock: those of deployers may be wrong. They are safe for concurrent use.
type sightings struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]sighting
}

// sighting is what is known of a version of a Lease.
type sighting struct {
	version string
	// until is when its deployer counts as gone, unless the API server has another version then.
	until time.Time
	// doubted says that the API server had none once, and gone that it had none when the deployer had had time to renew.
	doubted, gone bool
}

// of returns what is known of a Lease. One that is seen for the first time holds as if it were just renewed.
func (s *sightings) of(lease *coordinationv1.Lease, now time.Time) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := client.ObjectKeyFromObject(lease)
	if s.seen == nil {
		s.seen = map[types.NamespacedName]sighting{}
	}
	if s.seen[key].version != lease.ResourceVersion {
		s.seen[key] = sighting{version: lease.ResourceVersion, until: now.Add(holds(lease))}
	}
	return s.seen[key]
}

func (s *sightings) note(lease *coordinationv1.Lease, seen sighting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[client.ObjectKeyFromObject(lease)] = seen
}

// holds returns for how long a Lease holds.
func holds(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return leaseDuration
	}
	return min(max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, minLease), maxLease)
}

// sight notes when a Lease changes. It brings no item back.
func (r *Reconciler) sight(_ context.Context, lease client.Object) []reconcile.Request {
	r.sightings.of(lease.(*coordinationv1.Lease), r.Now())
	return nil
}

func (r *Reconciler) isOfDeployer(lease client.Object) bool {
	return lease.GetNamespace() == r.Leases && lease.GetLabels()[v1alpha1.DeployerLeaseLabel] != ""
}

// isServed reports whether a deployer that serves the item is alive, and when to look again. For the deployers of an Environment, which may be nil, its
// agent speaks, which is connected; its events bring the item back.
func (r *Reconciler) isServed(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) (served bool, again time.Duration, err error) {
	switch {
	case item.Annotations[v1alpha1.IgnoreAnnotation] == "true":
		return false, 0, nil
	case env != nil:
		served, err = r.servesInside(ctx, item, env)
		return served, 0, err
	case r.Leases == "":
		return false, 0, nil
	}
	target, err := r.targetObject(ctx, item)
	if err != nil {
		return false, 0, err
	}
	leases := &coordinationv1.LeaseList{}
	if err := r.List(ctx, leases, client.InNamespace(r.Leases), client.HasLabels{v1alpha1.DeployerLeaseLabel}); err != nil {
		return false, 0, err
	}
	for i := range leases.Items {
		claim, err := notify.DeployerClaimOf(&leases.Items[i])
		if err != nil || !claim.Serves(item, target) {
			continue
		}
		if left := r.left(ctx, &leases.Items[i]); left > 0 {
			return true, left, nil
		}
	}
	return false, 0, nil
}

// left returns for how long the deployer of a Lease counts as alive; 0 or less is no longer. The API server is asked twice for a Lease whose time is over:
// while it does not answer no deployer can renew, and after that each has the time to do so.
func (r *Reconciler) left(ctx context.Context, lease *coordinationv1.Lease) time.Duration {
	now := r.Now()
	seen := r.sightings.of(lease, now)
	if seen.gone || seen.until.After(now) {
		return seen.until.Sub(now)
	}
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	current := &coordinationv1.Lease{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(lease), current)
	isAnswered := err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
	switch {
	case !isAnswered || err == nil && current.ResourceVersion != lease.ResourceVersion:
		seen.until, seen.doubted = now.Add(holds(lease)), false
	case !seen.doubted:
		seen.until, seen.doubted = now.Add(holds(lease)/2), true
	default:
		seen.gone = true
	}
	r.sightings.note(lease, seen)
	return seen.until.Sub(now)
}
