// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// getter hands a cluster to Helm, for one operation. Nothing is read from files or the environment.
type getter struct {
	config    *rest.Config
	mapper    meta.RESTMapper
	namespace string
	discover  func() (discovery.CachedDiscoveryInterface, error)
}

func newGetter(ctx context.Context, cluster *target.Cluster, namespace string) *getter {
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	config.RateLimiter = nil
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bound{operation: ctx, next: next} })
	return &getter{
		config: config, mapper: cluster.MapperFor(ctx), namespace: namespace,
		discover: sync.OnceValues(func() (discovery.CachedDiscoveryInterface, error) {
			client, err := cluster.DiscoveryFor(ctx)
			if err != nil {
				return nil, err
			}
			return memory.NewMemCacheClient(client), nil
		}),
	}
}

// ToRESTConfig returns the way to the cluster.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns what asks for the kinds of the cluster.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) { return g.discover() }

// ToRESTMapper returns the mapper that all operations on the cluster share.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader returns a configuration that holds the namespace only.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}

// bound is a round tripper whose requests end with an operation. Helm's actions keep going in the background after their context has
// ended; with bound they can no longer do anything there.
type bound struct {
	operation context.Context
	next      http.RoundTripper
}

// RoundTrip sends the request unless the operation has ended, and aborts it when the operation ends before the body is read.
func (b *bound) RoundTrip(request *http.Request) (*http.Response, error) {
	if b.operation.Err() != nil {
		return nil, context.Cause(b.operation)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	stop := context.AfterFunc(b.operation, func() { cancel(context.Cause(b.operation)) })
	release := sync.OnceFunc(func() { stop(); cancel(nil) })
	response, err := b.next.RoundTrip(request.WithContext(ctx))
	if err != nil {
		release()
		return nil, err
	}
	response.Body = &boundBody{ReadCloser: response.Body, release: release}
	return response, nil
}

// boundBody gives back the resources of a bound request when it is closed.
type boundBody struct {
	io.ReadCloser
	release func()
}

// Close closes the body.
func (b *boundBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}

// EnsureNamespace creates a namespace that does not exist, labelled as Helm does it. Whoever may not create namespaces may still use one
// that exists.
func (e *Engine) EnsureNamespace(ctx context.Context, cluster *target.Cluster, name string) error {
	err := cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}})
	if err == nil || apierrors.IsAlreadyExists(err) ||
		apierrors.IsForbidden(err) && cluster.Client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}) == nil {
		return nil
	}
	return fmt.Errorf("namespace %s cannot be created: %w", name, err)
}
