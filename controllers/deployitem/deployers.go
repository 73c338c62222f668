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
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/liveness"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fair"
)

const (
	// leaseDuration is for how long a Lease holds that does not say it; minLease and maxLease bound what it says.
	leaseDuration      = time.Minute
	minLease, maxLease = 5 * time.Second, 10 * time.Minute
	// confirmTimeout is how long the API server may take to say what it has of a Lease.
	confirmTimeout = 10 * time.Second
)

// MayWatchLeases reports whether the process may watch the Leases of deployers in a namespace. It logs what follows if it may not.
func MayWatchLeases(ctx context.Context, c client.Client, namespace string) (bool, error) {
	for _, verb := range []string{"list", "watch"} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: coordinationv1.GroupName, Resource: "leases",
			},
		}}
		if err := c.Create(ctx, review); err != nil {
			return false, fmt.Errorf("ask whether this process may %s Leases in namespace %s: %w", verb, namespace, err)
		}
		if !review.Status.Allowed {
			ctrl.Log.WithName("pickup").Info("the controller may not see the Leases of deployers: DeployItems that a busy deployer does not begin "+
				"within --pickup-timeout fail. Grant get, list and watch and restart the controller", "namespace", namespace)
			return false, nil
		}
	}
	return true, nil
}

// deployers knows which deployers are alive, and which items wait for one of them. It is safe for concurrent use.
type deployers struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]sighting
	// claims is what Leases said when they were looked at last.
	claims map[types.NamespacedName]string
	// parked are items whose time for pick-up is over and that a deployer serves which is alive, with the names of their Targets.
	parked map[types.NamespacedName]string
	// byTarget has the same items.
	byTarget map[types.NamespacedName]map[types.NamespacedName]bool
	// later has the Targets for whose items a worker looks.
	later fair.Later
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
}

// sighting is a version of a Lease, and when it was first seen by the own clock: that of the deployer may be wrong.
type sighting struct {
	version string
	at      time.Time
	// doubted is when the API server first had no other version although the time of this one was over; zero is not yet.
	doubted time.Time
	// dead says that it still had none when the deployer had had time to renew.
	dead bool
}

// left returns how long a Lease still holds before it is doubted; 0 or less is no longer. One that is seen for the first time holds as if it were just
// renewed.
func (d *deployers) left(lease *coordinationv1.Lease, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sight(lease, now).at.Add(holds(lease)).Sub(now)
}

// isDead reports whether the deployer of a Lease counts as gone.
func (d *deployers) isDead(lease *coordinationv1.Lease, now time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.sight(lease, now).dead
}

// sight returns what is known of a Lease, with the lock held.
func (d *deployers) sight(lease *coordinationv1.Lease, now time.Time) sighting {
	key := client.ObjectKeyFromObject(lease)
	if d.seen == nil {
		d.seen = map[types.NamespacedName]sighting{}
	}
	if d.seen[key].version != lease.ResourceVersion {
		d.seen[key] = sighting{version: lease.ResourceVersion, at: now}
	}
	return d.seen[key]
}

// renewed begins the time of a Lease anew.
func (d *deployers) renewed(lease *coordinationv1.Lease, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[client.ObjectKeyFromObject(lease)] = sighting{version: lease.ResourceVersion, at: now}
	return holds(lease)
}

// doubt notes that the API server has no other version of a Lease whose time is over, and returns for how long to wait for one. When that is over,
// too, the deployer is dead.
func (d *deployers) doubt(lease *coordinationv1.Lease, now time.Time) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := client.ObjectKeyFromObject(lease)
	seen := d.sight(lease, now)
	if seen.doubted.IsZero() {
		seen.doubted = now
	}
	left := seen.doubted.Add(holds(lease) / 2).Sub(now)
	seen.dead = left <= 0
	d.seen[key] = seen
	return left
}

// holds returns for how long a Lease holds.
func holds(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return leaseDuration
	}
	return min(max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, minLease), maxLease)
}

// park keeps an item until a deployer dies, or another one may have to carry it out.
func (d *deployers) park(item *v1alpha1.DeployItem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.parked == nil {
		d.parked, d.byTarget = map[types.NamespacedName]string{}, map[types.NamespacedName]map[types.NamespacedName]bool{}
	}
	target, key := "", client.ObjectKeyFromObject(item)
	if item.Spec.Target != nil {
		target = item.Spec.Target.Name
	}
	d.remove(key)
	d.parked[key] = target
	at := types.NamespacedName{Namespace: item.Namespace, Name: target}
	if d.byTarget[at] == nil {
		d.byTarget[at] = map[types.NamespacedName]bool{}
	}
	d.byTarget[at][key] = true
}

// laterParkedOf leaves parkedOf to a worker of the namespace of a Target.
func (d *deployers) laterParkedOf() handler.MapFunc {
	isAwaited := func(_ context.Context, target client.Object) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.byTarget[client.ObjectKeyFromObject(target)]) > 0
	}
	return d.later.Noted("Target", isAwaited, d.parkedOf)
}

// parkedOf returns the parked items of a Target.
func (d *deployers) parkedOf(_ context.Context, target client.Object) []reconcile.Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	var requests []reconcile.Request
	for key := range d.byTarget[client.ObjectKeyFromObject(target)] {
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// selectionChanged passes the events after which other deployers may select a Target.
var selectionChanged = predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})

// unpark lets an item go.
func (d *deployers) unpark(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.remove(key)
}

// remove removes an item, with the lock held.
func (d *deployers) remove(key types.NamespacedName) {
	at := types.NamespacedName{Namespace: key.Namespace, Name: d.parked[key]}
	delete(d.parked, key)
	if delete(d.byTarget[at], key); len(d.byTarget[at]) == 0 {
		delete(d.byTarget, at)
	}
}

// died brings every item back that waits for some deployer, because one is gone or serves other items now.
func (d *deployers) died() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.parked {
		d.queue.Add(ctrl.Request{NamespacedName: key})
	}
}

// claimed notes what a Lease says, and reports whether it said something else before.
func (d *deployers) claimed(lease *coordinationv1.Lease) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key, says := client.ObjectKeyFromObject(lease), lease.Annotations[v1alpha1.DeployerServesAnnotation]
	was, known := d.claims[key]
	if d.claims == nil {
		d.claims = map[types.NamespacedName]string{}
	}
	d.claims[key] = says
	return known && was != says
}

func (d *deployers) forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.seen, key)
	delete(d.claims, key)
}

// keepQueue takes the queue of the controller, for what follows from the Leases of deployers.
func (d *deployers) keepQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	d.queue = queue
	return nil
}

// isServed reports whether a deployer that serves the item is alive. Then it is parked before that may change. For the deployers of an Environment,
// which may be nil, its agent speaks, which is connected.
func (r *Reconciler) isServed(ctx context.Context, item *v1alpha1.DeployItem, env *v1alpha1.Environment) (bool, error) {
	switch {
	case item.Annotations[v1alpha1.IgnoreAnnotation] == "true":
		return false, nil
	case env != nil:
		return r.servesInside(ctx, item, env)
	case r.Leases == "":
		return false, nil
	}
	r.deployers.park(item)
	served, err := r.serves(ctx, item)
	if err != nil || !served {
		r.deployers.unpark(client.ObjectKeyFromObject(item))
	}
	return served, err
}

func (r *Reconciler) serves(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	target, err := r.targetObject(ctx, item)
	if err != nil {
		return false, err
	}
	leases := &coordinationv1.LeaseList{}
	if err := r.List(ctx, leases, client.InNamespace(r.Leases), client.HasLabels{v1alpha1.DeployerLeaseLabel}); err != nil {
		return false, err
	}
	for i := range leases.Items {
		lease := &leases.Items[i]
		claim, err := liveness.ClaimOf(lease)
		if err == nil && claim.Serves(item, target) && !r.deployers.isDead(lease, r.Now()) {
			return true, nil
		}
	}
	return false, nil
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

// awaitDeployer shows once that an item waits for a deployer that is alive.
func (r *Reconciler) awaitDeployer(ctx context.Context, item *v1alpha1.DeployItem) error {
	if conditions.GetReason(item, meta.ReconcilingCondition) == kit.ReasonDeployerBusy {
		return nil
	}
	kit.Progress(item, kit.ReasonDeployerBusy, fmt.Sprintf(
		"a deployer for type %s is alive and has not begun this job within %s; it waits for its turn, see --concurrent of the deployer", item.Spec.Type, r.PickupTimeout))
	err := kit.WriteItemStatus(ctx, r.Client, item, r.Now(), &r.items)
	if apierrors.IsConflict(err) {
		return nil // the event of what came in between follows
	}
	return client.IgnoreNotFound(err)
}

// targetObject returns the Target of an item, nil without one.
func (r *Reconciler) targetObject(ctx context.Context, item *v1alpha1.DeployItem) (*v1alpha1.Target, error) {
	if item.Spec.Target == nil {
		return nil, nil
	}
	target := &v1alpha1.Target{}
	if err := r.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}, target); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return target, nil
}

// watchLeases registers the controller of the Leases of deployers.
func (r *Reconciler) watchLeases(mgr ctrl.Manager) error {
	ofDeployers := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == r.Leases && metav1.HasLabel(metav1.ObjectMeta{Labels: o.GetLabels()}, v1alpha1.DeployerLeaseLabel)
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("deployer-lease").
		For(&coordinationv1.Lease{}, builder.WithPredicates(ofDeployers)).
		WithOptions(fair.Options(1, nil)).
		Complete(reconcile.Func(r.reconcileLease))
}

// reconcileLease looks at a Lease when it changes, and at the instant at which it ends.
func (r *Reconciler) reconcileLease(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lease := &coordinationv1.Lease{}
	if err := r.Get(ctx, req.NamespacedName, lease); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.deployers.forget(req.NamespacedName)
			r.deployers.died()
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	left := r.deployers.left(lease, r.Now())
	if left <= 0 {
		left = r.confirm(ctx, lease)
	}
	if r.deployers.claimed(lease) || left <= 0 {
		r.deployers.died()
	}
	return ctrl.Result{RequeueAfter: max(left, 0)}, nil
}

// confirm asks the API server twice for a Lease whose time is over, and returns when to look again; 0 or less is never, because its deployer is dead.
// While the API server does not answer no deployer can renew, and after that each has the time to do so.
func (r *Reconciler) confirm(ctx context.Context, lease *coordinationv1.Lease) time.Duration {
	ctx, cancel := context.WithTimeout(ctx, confirmTimeout)
	defer cancel()
	current := &coordinationv1.Lease{}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(lease), current)
	isAnswered := err == nil || apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
	if !isAnswered || err == nil && current.ResourceVersion != lease.ResourceVersion {
		return r.deployers.renewed(lease, r.Now())
	}
	return r.deployers.doubt(lease, r.Now())
}
