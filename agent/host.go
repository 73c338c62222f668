// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// host keeps what deployers need in the own cluster: a ServiceAccount, its rights, and a Secret with a kubeconfig of it. It works without the
// landscaper cluster.
type host struct {
	config *Configuration
	server *rest.Config
	client client.Client
	live   client.Reader
	now    func() time.Time
	// ready is closed when everything was there for the first time.
	ready   chan struct{}
	isReady atomic.Bool
	// ended says that the Environment is being deleted, so that nothing is made any more.
	ended atomic.Bool
	retry *kit.Backoff
	again nudge
}

// hostCache restricts the cache of the own cluster to the objects of the agent.
func hostCache(config *Configuration) map[client.Object]cache.ByObject {
	of := func(namespace, name string) cache.ByObject {
		only := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", name), Transform: kit.StripManagedFields}
		if namespace != "" {
			only.Namespaces = map[string]cache.Config{namespace: {}}
		}
		return only
	}
	objects := map[client.Object]cache.ByObject{
		&corev1.ServiceAccount{}: of(config.Namespace, config.accountName()),
		&corev1.Secret{}:         of(config.Namespace, config.accessName()),
	}
	if config.HostRights == ClusterRights {
		objects[&rbacv1.ClusterRole{}] = of("", config.rightsName())
		objects[&rbacv1.ClusterRoleBinding{}] = of("", config.rightsName())
		return objects
	}
	objects[&rbacv1.Role{}] = of(config.Namespace, config.rightsName())
	objects[&rbacv1.RoleBinding{}] = of(config.Namespace, config.rightsName())
	return objects
}

// setup watches the objects.
func (h *host) setup(mgr ctrl.Manager) error {
	one := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request { return []ctrl.Request{h.request()} })
	return ctrl.NewControllerManagedBy(mgr).Named("agent-host").
		WatchesRawSource(h.again.source(h.request())).
		Watches(&corev1.ServiceAccount{}, one).
		Watches(&corev1.Secret{}, one).
		Watches(bare(h.config.role(h.config.HostRights)), one).
		Watches(bare(h.config.binding(h.config.HostRights)), one).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, SkipNameValidation: new(true)}).
		Complete(h)
}

func (h *host) request() ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: h.config.Namespace, Name: h.config.accountName()}}
}

// bare returns an object of the same kind.
func bare(object client.Object) client.Object {
	switch object.(type) {
	case *rbacv1.ClusterRole:
		return &rbacv1.ClusterRole{}
	case *rbacv1.ClusterRoleBinding:
		return &rbacv1.ClusterRoleBinding{}
	case *rbacv1.RoleBinding:
		return &rbacv1.RoleBinding{}
	}
	return &rbacv1.Role{}
}

// Reconcile makes what is missing, mends what differs and renews the token when its time has come. It returns when that will be.
func (h *host) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if h.ended.Load() {
		return ctrl.Result{}, nil
	}
	left, err := h.ensure(ctx)
	if err != nil {
		after := h.retry.After(request.NamespacedName, err)
		ctrl.LoggerFrom(ctx).Error(err, "unable to give the deployers their access to the own cluster", "retryAfter", after.String())
		return ctrl.Result{RequeueAfter: after}, nil
	}
	h.retry.Forget(request.NamespacedName)
	if h.isReady.CompareAndSwap(false, true) {
		close(h.ready)
	}
	return ctrl.Result{RequeueAfter: left}, nil
}

func (h *host) ensure(ctx context.Context) (time.Duration, error) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.config.Namespace, Name: h.config.accountName()}}
	if err := h.client.Get(ctx, client.ObjectKeyFromObject(account), account); apierrors.IsNotFound(err) {
		if err := ignoreExisting(h.client.Create(ctx, account)); err != nil {
			return 0, fmt.Errorf("create ServiceAccount %s: %w", client.ObjectKeyFromObject(account), err)
		}
	} else if err != nil {
		return 0, err
	}
	if err := h.ensureRole(ctx); err != nil {
		return 0, err
	}
	if err := h.ensureBinding(ctx); err != nil {
		return 0, err
	}
	return h.ensureAccess(ctx, string(account.UID))
}

func (h *host) ensureRole(ctx context.Context) error {
	wanted := h.config.role(h.config.HostRights)
	found := bare(wanted)
	return h.put(ctx, wanted, found, func() bool {
		switch have := found.(type) {
		case *rbacv1.Role:
			rules := wanted.(*rbacv1.Role).Rules
			differs := !equality.Semantic.DeepEqual(have.Rules, rules)
			have.Rules = rules
			return differs
		case *rbacv1.ClusterRole:
			rules := wanted.(*rbacv1.ClusterRole).Rules
			differs := !equality.Semantic.DeepEqual(have.Rules, rules)
			have.Rules = rules
			return differs
		}
		return false
	})
}

// ensureBinding mends subjects. Who changes the role of a binding has to delete it: API servers refuse to change it.
func (h *host) ensureBinding(ctx context.Context) error {
	wanted := h.config.binding(h.config.HostRights)
	found := bare(wanted)
	return h.put(ctx, wanted, found, func() bool {
		switch have := found.(type) {
		case *rbacv1.RoleBinding:
			subjects := wanted.(*rbacv1.RoleBinding).Subjects
			differs := !equality.Semantic.DeepEqual(have.Subjects, subjects)
			have.Subjects = subjects
			return differs
		case *rbacv1.ClusterRoleBinding:
			subjects := wanted.(*rbacv1.ClusterRoleBinding).Subjects
			differs := !equality.Semantic.DeepEqual(have.Subjects, subjects)
			have.Subjects = subjects
			return differs
		}
		return false
	})
}

// put creates an object that is missing, and updates the found one where mend says that it differed.
func (h *host) put(ctx context.Context, wanted, found client.Object, mend func() bool) error {
	err := h.client.Get(ctx, client.ObjectKeyFromObject(wanted), found)
	switch {
	case apierrors.IsNotFound(err):
		err = ignoreExisting(h.client.Create(ctx, wanted))
	case err == nil && mend():
		err = h.client.Update(ctx, found)
	}
	if err != nil {
		return fmt.Errorf("give the deployers their rights by %q: %w", wanted.GetName(), err)
	}
	return nil
}

// uninstall removes what the agent has made, rights first, and forgets nothing: it can be repeated.
func (h *host) uninstall(ctx context.Context) error {
	h.ended.Store(true)
	objects := []client.Object{
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.config.Namespace, Name: h.config.accessName()}},
		h.config.binding(h.config.HostRights), h.config.role(h.config.HostRights),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.config.Namespace, Name: h.config.accountName()}},
	}
	for _, object := range objects {
		if err := client.IgnoreNotFound(h.client.Delete(ctx, object)); err != nil {
			return fmt.Errorf("delete %s %q of the own cluster: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetName(), err)
		}
	}
	return nil
}

// token requests a token of the ServiceAccount.
func (h *host) token(ctx context.Context) (*authenticationv1.TokenRequestStatus, error) {
	seconds := int64(tokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.config.Namespace, Name: h.config.accountName()}}
	if err := h.client.SubResource("token").Create(ctx, account, request); err != nil {
		return nil, fmt.Errorf("request a token of ServiceAccount %s: %w", client.ObjectKeyFromObject(account), err)
	}
	return &request.Status, nil
}

func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
