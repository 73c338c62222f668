// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/secrecy"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// capabilitiesAge is how long the version of a cluster is remembered for charts that do not ask for API versions.
const capabilitiesAge = 10 * time.Minute

// clusterState is what operations over one connection share: whoever acts sees what its own requests have shown.
type clusterState struct {
	mu           sync.Mutex
	capabilities *chartutil.Capabilities
	asOf         time.Time
}

// known returns the remembered capabilities, nil when there are none or they are too old.
func (s *clusterState) known() *chartutil.Capabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.capabilities == nil || time.Since(s.asOf) > capabilitiesAge {
		return nil
	}
	return s.capabilities
}

func (s *clusterState) learn(capabilities *chartutil.Capabilities) {
	if capabilities == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *capabilities
	kept.APIVersions = chartutil.DefaultVersionSet // what is remembered is only for charts that do not ask for them
	s.capabilities, s.asOf = &kept, time.Now()
}

// getter hands a cluster to Helm, for one operation. Nothing is read from files or the environment.
type getter struct {
	ctx       context.Context
	cluster   *target.Cluster
	config    *rest.Config
	mapper    meta.RESTMapper
	namespace string

	once      sync.Once
	discovery discovery.CachedDiscoveryInterface
	err       error
}

func newGetter(ctx context.Context, cluster *target.Cluster, namespace string) *getter {
	config := rest.CopyConfig(cluster.Config)
	config.QPS = -1
	config.RateLimiter = nil
	config.WarningHandler = rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bound{operation: ctx, next: next} })
	return &getter{ctx: ctx, cluster: cluster, config: config, mapper: cluster.MapperFor(ctx), namespace: namespace}
}

// ToRESTConfig returns the way to the cluster.
func (g *getter) ToRESTConfig() (*rest.Config, error) { return rest.CopyConfig(g.config), nil }

// ToDiscoveryClient returns what asks for the kinds of the cluster.
func (g *getter) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	g.once.Do(func() {
		var client discovery.DiscoveryInterface
		if client, g.err = g.cluster.DiscoveryFor(g.ctx); g.err == nil {
			g.discovery = memory.NewMemCacheClient(client)
		}
	})
	return g.discovery, g.err
}

// ToRESTMapper returns the mapper that all operations on the cluster share.
func (g *getter) ToRESTMapper() (meta.RESTMapper, error) { return g.mapper, nil }

// ToRawKubeConfigLoader returns a configuration that holds the namespace only.
func (g *getter) ToRawKubeConfigLoader() clientcmd.ClientConfig {
	overrides := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: g.namespace}}
	return clientcmd.NewDefaultClientConfig(*clientcmdapi.NewConfig(), overrides)
}

// operation is one use of Helm.
type operation struct {
	*action.Configuration
	state    *clusterState
	journal  *secrecy.Journal
	children *rendering.Pool
	// pods is what the Pods of a hook that failed wrote last.
	pods *podLog
}

// begin prepares Helm for a cluster and a namespace. Once ctx has ended, the operation cannot reach the cluster any more.
func (e *Engine) begin(ctx context.Context, cluster *target.Cluster, namespace string) (*operation, error) {
	op := &operation{Configuration: &action.Configuration{}, journal: &secrecy.Journal{}, state: e.stateOf(cluster), children: e.children}
	op.pods = &podLog{journal: op.journal}
	g := newGetter(ctx, cluster, namespace)
	if err := op.Init(g, namespace, e.options.Driver, op.journal.Log); err != nil {
		return nil, fmt.Errorf("helm storage driver %q: %w", e.options.Driver, err)
	}
	checked, err := records.NewChecked(op.Releases.Driver, g.config, namespace, e.options.Driver == DriverConfigMap)
	if err != nil {
		return nil, err
	}
	op.Releases.Driver = records.Numbered{Driver: checked}
	return op, nil
}

// useCapabilities saves the discovery of all kinds of the cluster where the chart cannot tell the difference.
func (o *operation) useCapabilities(request Request) {
	if !request.mayAskForKinds() {
		o.Capabilities = o.state.known()
	}
}

// mayAskForKinds reports whether what is rendered may depend on the kinds of the cluster. A chart can render texts of its values as templates.
func (r Request) mayAskForKinds() bool {
	return r.Chart.dynamic || rendering.AsksForKinds(fmt.Append(nil, r.Values))
}

func (e *Engine) stateOf(cluster *target.Cluster) *clusterState {
	key := cluster.Connection()
	if known, ok := e.clusters.Get(key); ok {
		return known
	}
	state := &clusterState{}
	if known, ok, _ := e.clusters.PeekOrAdd(key, state); ok {
		return known
	}
	return state
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
