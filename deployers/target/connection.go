// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
	"github.com/flux-landscaper/flux-landscaper/sources/address"
	"github.com/flux-landscaper/flux-landscaper/sources/keysize"
)

// connection is an opened cluster with what belongs to its life: the connection pool and, where tokens are requested, their source.
type connection struct {
	cluster Cluster
	kinds   *kinds
	http    *http.Client
	tokens  *tokens
}

// bind gives cluster, which is a copy of that of the connection, a mapper and a client whose questions count for a namespace and keep to its paces.
func (c *connection) bind(cluster *Cluster, namespace string, paces paces) error {
	mapper := &boundMapper{kinds: c.kinds, owner: namespace, pace: paces.kinds, ctx: context.Background()}
	bound, err := newBoundClient(mapper, paces.lists, func() (client.Client, error) {
		return client.New(c.cluster.Config, client.Options{HTTPClient: c.http, Mapper: mapper})
	})
	if err != nil {
		return fmt.Errorf("prepare client: %w", err)
	}
	cluster.paces, cluster.Mapper, cluster.Client = paces, mapper, bound
	return nil
}

// dial prepares clients that share one connection pool and one lazily filled map of kinds. It sends nothing yet. The API server
// paces the clients (priority and fairness), they do not slow themselves down.
func (c *Clients) dial(config *rest.Config, kubeconfig []byte, source *tokens, dial address.Dial) (*connection, error) {
	config.QPS, config.UserAgent, config.WarningHandler = -1, c.options.UserAgent, rest.NoWarnings{}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON // which can be judged before it is decoded
	if err := cmp.Or(keysize.Certificates(config.CAData), keysize.Private(config.KeyData)); err != nil {
		return nil, refuse("certificates or keys", "cannot be used", err.Error())
	}
	if err := harden(config, dial, c.limits, source); err != nil {
		return nil, refuse("certificates or keys", "cannot be used: "+err.Error(), "they have to be PEM, base64 encoded once")
	}
	pool, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, refuse("certificates or keys", "cannot be used: "+err.Error(), "they have to be PEM, base64 encoded once")
	}
	opened := &connection{
		http: pool, tokens: source, kinds: newKinds(config, pool, c.served),
		cluster: Cluster{Config: config, Kubeconfig: kubeconfig, identity: &identity{}},
	}
	if opened.cluster.Dynamic, err = dynamic.NewForConfigAndClient(config, pool); err != nil {
		return nil, fmt.Errorf("prepare dynamic client: %w", err)
	}
	if opened.cluster.metadata, err = metadata.NewForConfigAndClient(config, pool); err != nil {
		return nil, fmt.Errorf("prepare metadata client: %w", err)
	}
	return opened, nil
}

// harden makes every client of a configuration use one guarded connection pool, also clients that libraries make from a copy of the
// configuration. It changes config. Requests pass the token source, if there is one, then the guard.
func harden(config *rest.Config, dial address.Dial, limits guard.Limits, source *tokens) error {
	sender, err := guard.New(config, dial, limits)
	if err != nil {
		return err
	}
	if source != nil {
		sender = &tokenTransport{tokens: source, base: sender}
	}
	config.WrapTransport = func(http.RoundTripper) http.RoundTripper { return sender }
	return nil
}
