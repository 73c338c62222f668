// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package webhooks

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// SecretName is the name of the Secret with the certificates, which all replicas share.
const SecretName = "landscaper-webhook-certs"

// Options say what is validated and how the webhooks are reached.
type Options struct {
	// Kinds to validate; without any the registration is removed.
	Kinds []Kind
	// Endpoint at which the API server calls.
	Endpoint Endpoint
	// Namespace of the Secret with the certificates.
	Namespace string
	// Lifetime of a certificate. After two thirds of it the next one is made.
	Lifetime time.Duration
	// Now is the clock.
	Now func() time.Time
}

// Reconciler keeps the certificates and the registration. Its server has to be that of the manager.
type Reconciler struct {
	options      Options
	client       client.Client
	live         client.Reader
	registration registration
	answers      func(*http.Request) error
	certificate  atomic.Pointer[tls.Certificate]
}

// CacheOptions restrict the cache to the two objects that are watched, when certificates lie in a namespace.
func CacheOptions(namespace string) map[client.Object]cache.ByObject {
	named := func(name string) fields.Selector { return fields.OneTermEqualSelector(metav1.ObjectNameField, name) }
	return map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Namespaces: map[string]cache.Config{namespace: {FieldSelector: named(SecretName)}}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{}: {Field: named(ConfigurationName)},
	}
}

// New returns a reconciler that is yet to be set up with a manager.
func New(options Options) *Reconciler { return &Reconciler{options: options} }

// Server returns the server of the webhooks at a port. It also answers GET /healthz.
func (r *Reconciler) Server(port int) webhook.Server {
	server := webhook.NewServer(webhook.Options{Port: port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion, c.GetCertificate = tls.VersionTLS12, r.serve
	}}})
	for _, kind := range r.options.Kinds {
		server.Register(kind.path(), &admission.Webhook{Handler: judge{kind}, RecoverPanic: new(true)})
	}
	server.Register("/healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Ok") }))
	r.answers = server.StartedChecker()
	return server
}

func (r *Reconciler) serve(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if certificate := r.certificate.Load(); certificate != nil {
		return certificate, nil
	}
	return nil, errors.New("there is no certificate for the webhooks yet")
}

// SetupWithManager registers the server's health check, the watches and the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	r.client, r.live = mgr.GetClient(), mgr.GetAPIReader()
	r.registration = registration{client: r.client, live: r.live, kinds: r.options.Kinds, endpoint: r.options.Endpoint}
	if err := mgr.AddReadyzCheck("webhooks", r.answers); err != nil {
		return err
	}
	everything := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{}}
	})
	return ctrl.NewControllerManagedBy(mgr).Named("webhooks").
		Watches(&corev1.Secret{}, everything).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, everything).
		Complete(r)
}

// Prepare gets the certificate, or makes the first one. The server and the controller may start afterwards.
func (r *Reconciler) Prepare(ctx context.Context) error {
	ring, err := r.certificates(ctx)
	if err == nil {
		r.certificate.Store(ring.current(r.options.Endpoint.hosts(), r.options.Now()))
	}
	return err
}

// Unregister removes the registration.
func Unregister(ctx context.Context, writer client.Client) error {
	r := registration{client: writer}
	return r.remove(ctx)
}

// Reconcile renews the certificates in time, has the API server trust them, and only then serves with them.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if err := r.answers(nil); err != nil {
		return ctrl.Result{}, err
	}
	ring, err := r.certificates(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := retry.OnError(retry.DefaultRetry, lostRace, func() error {
		return r.registration.publish(ctx, ring.authorities())
	}); err != nil {
		return ctrl.Result{}, err
	}
	hosts, now := r.options.Endpoint.hosts(), r.options.Now()
	r.certificate.Store(ring.current(hosts, now))
	return ctrl.Result{RequeueAfter: max(ring.next(hosts, now).Sub(now), time.Second)}, nil
}

// certificates returns those that all replicas share. When a new one is due, the replica that writes first makes it.
func (r *Reconciler) certificates(ctx context.Context) (ring, error) {
	var kept ring
	err := retry.OnError(retry.DefaultRetry, lostRace, func() error {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.options.Namespace, Name: SecretName}}
		err := r.live.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		if client.IgnoreNotFound(err) != nil {
			return err
		}
		var changed bool
		if kept, changed, err = decodeRing(secret.Data).renewed(r.options.Endpoint.hosts(), r.options.Lifetime, r.options.Now()); err != nil || !changed {
			return err
		}
		secret.Data = kept.encode()
		if secret.ResourceVersion == "" {
			return r.client.Create(ctx, secret)
		}
		return r.client.Update(ctx, secret)
	})
	if err != nil {
		return nil, fmt.Errorf("keep the certificates in Secret %s/%s: %w", r.options.Namespace, SecretName, err)
	}
	return kept, nil
}

func lostRace(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
