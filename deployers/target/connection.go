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

	"github.com/flux-landscaper/flux-landscaper/sources/address"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
	"github.com/flux-landscaper/flux-landscaper/sources/keysize"
)

// connection is an opened cluster with what belongs to its life: the connection pool and, where tokens are requested, their source.
type connection struct {
	cluster Cluster
	http    *http.Client
	tokens  *tokens
}

// dial prepares clients that share one connection pool and one lazily filled map of kinds. It sends nothing yet. The API server
// paces the clients (priority and fairness), they do not slow themselves down.
func (c *Clients) dial(config *rest.Config, kubeconfig []byte, source *tokens, dial address.Dial) (*connection, error) {
	config.QPS, config.UserAgent, config.WarningHandler = -1, c.options.UserAgent, rest.NoWarnings{}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if err := cmp.Or(keysize.Certificates(config.CAData), keysize.Private(config.KeyData)); err != nil {
		return nil, refuse("certificates or keys", "cannot be used", err.Error())
	}
	if err := harden(config, dial, c.policy, source); err != nil {
		return nil, refuse("certificates or keys", "cannot be used: "+err.Error(), "they have to be PEM, base64 encoded once")
	}
	pool, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, refuse("certificates or keys", "cannot be used: "+err.Error(), "they have to be PEM, base64 encoded once")
	}
	mapper := boundMapper{kinds: newKinds(config, pool), ctx: context.Background()}
	opened := &connection{
		http: pool, tokens: source, cluster: Cluster{Config: config, Kubeconfig: kubeconfig, identity: &identity{}, Mapper: mapper},
	}
	bare, err := client.New(config, client.Options{HTTPClient: pool, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("prepare client: %w", err)
	}
	opened.cluster.Client = boundClient{bare, mapper.kinds}
	if opened.cluster.Dynamic, err = dynamic.NewForConfigAndClient(config, pool); err != nil {
		return nil, fmt.Errorf("prepare dynamic client: %w", err)
	}
	if opened.cluster.metadata, err = metadata.NewForConfigAndClient(config, pool); err != nil {
		return nil, fmt.Errorf("prepare metadata client: %w", err)
	}
	return opened, nil
}

// harden makes every client of a configuration send by one policy over one connection pool, also clients that libraries make from a copy of the
// configuration. It changes config. Requests pass the token source, if there is one, then the sender.
func harden(config *rest.Config, dial address.Dial, policy egress.Policy, source *tokens) error {
	policy.Dial = dial
	sender, err := newSender(config, policy)
	if err != nil {
		return err
	}
	var outer http.RoundTripper = sender
	if source != nil {
		outer = &tokenTransport{tokens: source, base: sender}
	}
	config.WrapTransport = func(http.RoundTripper) http.RoundTripper { return outer }
	return nil
}
