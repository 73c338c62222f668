// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"context"
	"fmt"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/liveness"
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
		claim, err := liveness.ClaimOf(&leases.Items[i])
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
