// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// SetupWithManager registers the controllers. Until there is an Environment they watch nothing that the process does not watch anyway, but
// Environments and DeployerRegistrations.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, concurrency int) error {
	w := &watches{Reader: r.Client, homes: &r.Homes, caches: mgr.GetCache()}
	r.watches = w
	options := queue.Options(concurrency, 0)
	meant := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, predicate.LabelChangedPredicate{}, comesOrGoes)
	built, err := ctrl.NewControllerManagedBy(mgr).
		Named("environment").
		For(&v1alpha1.Environment{}).
		Watches(&v1alpha1.DeployerRegistration{}, handler.EnqueueRequestsFromMapFunc(w.all), builder.WithPredicates(meant)).
		Watches(&v1alpha1.Installation{}, handler.EnqueueRequestsFromMapFunc(w.ofInstallation), builder.WithPredicates(w.atHome())).
		Watches(&v1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(ofTarget), builder.WithPredicates(w.atHome())).
		Watches(&v1alpha1.DeployItem{}, handler.EnqueueRequestsFromMapFunc(w.ofItem), builder.WithPredicates(w.atHome(), taken)).
		Watches(&v1alpha1.DeployItem{}, handler.EnqueueRequestsFromMapFunc(w.inDeletion), builder.WithPredicates(lessUsed)).
		Watches(&v1alpha1.Target{}, handler.EnqueueRequestsFromMapFunc(w.inDeletion), builder.WithPredicates(lessUsed)).
		WithOptions(options).
		Build(r)
	if err != nil {
		return err
	}
	w.controller = built
	isClaim := func(secret client.Object) bool {
		_, is := claimant(&r.Homes, secret)
		return is
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("environment-enrol").
		For(&corev1.Secret{}, builder.OnlyMetadata, builder.WithPredicates(predicate.NewPredicateFuncs(isClaim))).
		WithOptions(options).
		Complete(&enroller{r})
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("environment-cleanup").
		For(&v1alpha1.Installation{}, builder.WithPredicates(predicate.NewPredicateFuncs(r.Homes.Holds))).
		WithOptions(options).
		Complete(&cleaner{r})
	if err != nil {
		return err
	}
	return (&registrations{Reconciler: r}).setUp(mgr, options)
}

// comesOrGoes passes the updates that begin a deletion.
var comesOrGoes = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
}}

// taken passes the updates of DeployItems by which a deployer takes one for the first time.
var taken = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isItem := e.ObjectOld.(*v1alpha1.DeployItem)
	now, _ := e.ObjectNew.(*v1alpha1.DeployItem)
	return isItem && (before.Status.Deployer == nil) != (now.Status.Deployer == nil)
}}

// lessUsed passes the events after which fewer DeployItems may need an Environment.
var lessUsed = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[v1alpha1.EnvironmentAnnotation] != e.ObjectNew.GetAnnotations()[v1alpha1.EnvironmentAnnotation]
	},
}

// extra is a kind that only Environments need watched.
type extra struct {
	object client.Object
	to     handler.MapFunc
	pass   predicate.Predicate
}

// watches decide what begins a reconciliation.
type watches struct {
	client.Reader
	homes      *pair.Homes
	controller controller.Controller
	caches     cache.Cache

	mu sync.Mutex
	// watched is how many of extras are watched.
	watched int
}

// more begins to watch what only Environments need. It is called when there is one, and goes on where it failed before.
func (w *watches) more() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	extras := w.extras()
	for _, one := range extras[w.watched:] {
		if err := w.controller.Watch(source.Kind(w.caches, one.object, handler.EnqueueRequestsFromMapFunc(one.to), one.pass)); err != nil {
			return err
		}
		w.watched++
	}
	return nil
}

func (w *watches) extras() []extra {
	leases := predicate.NewPredicateFuncs(func(o client.Object) bool {
		name, isAgent := strings.CutPrefix(o.GetName(), v1alpha1.AgentLeasePrefix)
		return isAgent && w.homes.Has(o.GetNamespace(), name)
	})
	allowed := predicate.Or(comesOrGoes, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	namespaces := &metav1.PartialObjectMetadata{}
	namespaces.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	isMade := predicate.NewPredicateFuncs(pair.IsMade)
	return []extra{
		{&coordinationv1.Lease{}, ofLease, leases},
		{&corev1.ServiceAccount{}, ofMade, predicate.NewPredicateFuncs(w.homes.Holds)},
		{&rbacv1.ClusterRoleBinding{}, ofMade, isMade},
		{&rbacv1.RoleBinding{}, ofMade, isMade},
		{namespaces, w.ofNamespace, allowed},
	}
}

// atHome passes what is in a namespace that may be one of an Environment.
func (w *watches) atHome() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetNamespace() == w.homes.Shared || strings.HasPrefix(o.GetNamespace(), v1alpha1.EnvironmentNamespacePrefix)
	})
}

func named(names ...string) []reconcile.Request {
	var requests []reconcile.Request
	for _, name := range names {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	}
	return requests
}

func ofLease(_ context.Context, lease client.Object) []reconcile.Request {
	return named(strings.TrimPrefix(lease.GetName(), v1alpha1.AgentLeasePrefix))
}

func ofMade(_ context.Context, object client.Object) []reconcile.Request {
	return named(pair.Of(object).Environment)
}

// all returns every Environment.
func (w *watches) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return w.those(ctx, func(*v1alpha1.Environment) bool { return true })
}

// inDeletion returns the Environments in deletion.
func (w *watches) inDeletion(ctx context.Context, _ client.Object) []reconcile.Request {
	return w.those(ctx, func(env *v1alpha1.Environment) bool { return !env.DeletionTimestamp.IsZero() })
}

// ofInstallation returns the Environment of an Installation, and those that a pair of the same name may belong to.
func (w *watches) ofInstallation(ctx context.Context, installation client.Object) []reconcile.Request {
	own := pair.Of(installation).Environment
	requests := w.those(ctx, func(env *v1alpha1.Environment) bool {
		return env.Name == own || strings.HasSuffix(installation.GetName(), "-"+env.Name)
	})
	if own != "" {
		requests = append(requests, named(own)...) // also one that is gone
	}
	return requests
}

// ofItem returns the Environment whose deployer a DeployItem installs.
func (w *watches) ofItem(ctx context.Context, item client.Object) []reconcile.Request {
	installation := &v1alpha1.Installation{}
	key := client.ObjectKey{Namespace: item.GetNamespace(), Name: item.GetLabels()[v1alpha1.ExecutionManagedByLabel]}
	if key.Name == "" || w.Get(ctx, key, installation) != nil || !pair.IsMade(installation) {
		return nil
	}
	return named(pair.Of(installation).Environment)
}

// ofTarget returns the Environment whose host a Target leads to, or whose deployer it belongs to.
func ofTarget(_ context.Context, target client.Object) []reconcile.Request {
	if owner := protocol.ControllerOf(target, "Environment"); owner != nil {
		return named(owner.Name)
	}
	if pair.IsMade(target) {
		return named(pair.Of(target).Environment)
	}
	return nil
}

// ofNamespace returns the Environment that a namespace belongs to, those that name it, and those that wait for one.
func (w *watches) ofNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return w.those(ctx, func(env *v1alpha1.Environment) bool {
		return namespace.GetName() == w.homes.Own(env.Name) || slices.Contains(env.Spec.Namespaces, namespace.GetName()) ||
			conditions.GetReason(env, meta.ReadyCondition) == reasonNamespaceMissing || w.isAllowed(ctx, env, namespace.GetName())
	})
}

// isAllowed reports whether the deployers of an Environment that names no namespaces may work in one, because its own namespace allows that by name.
func (w *watches) isAllowed(ctx context.Context, env *v1alpha1.Environment, namespace string) bool {
	if env.Spec.Namespaces != nil {
		return false
	}
	home, err := pair.ReadNamespace(ctx, w, w.homes.Own(env.Name))
	return err == nil && slices.Contains(pair.Allowed(home), namespace)
}

func (w *watches) those(ctx context.Context, concern func(*v1alpha1.Environment) bool) []reconcile.Request {
	list := &v1alpha1.EnvironmentList{}
	if err := w.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the Environments")
	}
	var names []string
	for i := range list.Items {
		if concern(&list.Items[i]) {
			names = append(names, list.Items[i].Name)
		}
	}
	return named(names...)
}
