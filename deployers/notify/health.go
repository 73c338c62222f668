// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// HealthCheck keeps one LsHealthCheck, which shows whether the Deployments of this system run. It looks at each event of a Deployment, and writes when the outcome changes and once in an interval, so
// that a time long ago says that nobody checks any more.
type HealthCheck struct {
	// Cluster has the Deployments and the LsHealthCheck. Its cache holds the Deployments of the namespace.
	Cluster cluster.Cluster
	// Check is the LsHealthCheck.
	Check client.ObjectKey
	// Deployments are names in its namespace. The first one with a problem is described.
	Deployments []string
	// Interval is how long a problem has to last before the outcome is Failed, and the time between two writes without one.
	Interval time.Duration
	// Backoff says when to try again what the API server refused.
	Backoff *queue.Backoff
	// Now is the clock.
	Now func() time.Time

	// since is when the Deployments that run no more were first found so; zero while all run. One worker uses it.
	since time.Time
}

// SetupWithManager registers the controller. The cluster has to be part of the manager.
func (r *HealthCheck) SetupWithManager(mgr ctrl.Manager) error {
	if len(r.Deployments) == 0 {
		return errors.New("the health check names no Deployments")
	}
	request := reconcile.Request{NamespacedName: r.Check}
	toCheck := handler.TypedEnqueueRequestsFromMapFunc(func(context.Context, *appsv1.Deployment) []reconcile.Request { return []reconcile.Request{request} })
	first := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(request)
		return nil
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("health").
		WatchesRawSource(source.Kind(r.Cluster.GetCache(), &appsv1.Deployment{}, toCheck)).
		WatchesRawSource(first).
		Complete(r)
}

// Reconcile looks at the Deployments and writes what it found where that is due.
func (r *HealthCheck) Reconcile(ctx context.Context, _ reconcile.Request) (ctrl.Result, error) {
	problem, err := r.problem(ctx)
	if err == nil {
		var wait time.Duration
		if wait, err = r.show(ctx, problem); err == nil {
			r.Backoff.Forget(r.Check)
			return ctrl.Result{RequeueAfter: wait}, nil
		}
	}
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; bind the ClusterRole landscaper:health-check in this namespace", err)
	}
	return r.Backoff.Later(ctx, r.Check, err), nil
}

// problem describes the first Deployment that does not run as it should; empty is none.
func (r *HealthCheck) problem(ctx context.Context) (string, error) {
	for _, name := range r.Deployments {
		deployment := &appsv1.Deployment{}
		err := r.Cluster.GetClient().Get(ctx, client.ObjectKey{Namespace: r.Check.Namespace, Name: name}, deployment)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Sprintf("Deployment %s does not exist", name), nil
		case err != nil:
			return "", err
		}
		if problem := problemOf(deployment); problem != "" {
			return fmt.Sprintf("Deployment %s %s", name, problem), nil
		}
	}
	return "", nil
}

// problemOf says what of a Deployment does not run; empty is nothing.
func problemOf(deployment *appsv1.Deployment) string {
	wanted, status := ptr.Deref(deployment.Spec.Replicas, 1), &deployment.Status
	switch {
	case wanted == 0:
		return "is scaled to 0"
	case status.ObservedGeneration < deployment.Generation:
		return "has a spec that its controller has not seen yet"
	case status.UpdatedReplicas != wanted:
		return fmt.Sprintf("has %d updated replicas of %d", status.UpdatedReplicas, wanted)
	case status.AvailableReplicas != wanted:
		return fmt.Sprintf("has %d available replicas of %d", status.AvailableReplicas, wanted)
	}
	return ""
}

// show writes the outcome where it is another one, or the last write is an interval ago. It returns when to look again.
func (r *HealthCheck) show(ctx context.Context, problem string) (time.Duration, error) {
	check := &v1alpha1.LsHealthCheck{}
	err := r.Cluster.GetAPIReader().Get(ctx, r.Check, check)
	isNew := apierrors.IsNotFound(err)
	if err != nil && !isNew {
		return 0, err
	}
	now := r.Now()
	if problem == "" {
		r.since = time.Time{}
	} else if r.since.IsZero() {
		r.since = now
	}
	status, description := outcome(check, problem, r.since, now, r.Interval)
	if age := now.Sub(check.LastUpdateTime.Time); status != check.Status || description != check.Description || age >= r.Interval || age < 0 {
		check.Namespace, check.Name = r.Check.Namespace, r.Check.Name
		check.Status, check.Description, check.LastUpdateTime = status, description, metav1.NewTime(now)
		if isNew {
			err = r.Cluster.GetClient().Create(ctx, check)
		} else {
			err = r.Cluster.GetClient().Update(ctx, check)
		}
		if err != nil {
			return 0, err
		}
	}
	wait := check.LastUpdateTime.Add(r.Interval).Sub(now)
	if lasts := r.since.Add(r.Interval).Sub(now); !r.since.IsZero() && lasts > 0 {
		wait = min(wait, lasts)
	}
	return max(wait, time.Millisecond), nil
}

// outcome returns what to show of a problem that there is since a time. A new problem does not count before it has lasted for an interval, as one of a roll-out.
func outcome(shown *v1alpha1.LsHealthCheck, problem string, since, now time.Time, interval time.Duration) (v1alpha1.LsHealthCheckStatus, string) {
	switch {
	case problem == "":
		return v1alpha1.LsHealthCheckStatusOk, "ok"
	case now.Sub(since) >= interval, shown.Status == v1alpha1.LsHealthCheckStatusFailed:
		return v1alpha1.LsHealthCheckStatusFailed, problem
	case shown.Status == "":
		return v1alpha1.LsHealthCheckStatusInit, problem
	}
	return shown.Status, shown.Description
}
