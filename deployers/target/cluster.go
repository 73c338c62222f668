// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package target opens Targets: it turns the content of a Target object into a client of the cluster that it describes.
package target

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// Cluster is an opened Target of type landscaper.gardener.cloud/kubernetes-cluster. It is shared by all items with the same
// content and safe for concurrent use.
type Cluster struct {
	// Name of the Target object it was opened from.
	Name string
	// Config to reach the API server; without any reference to files, commands or plugins.
	Config *rest.Config
	// Kubeconfig is the sanitised kubeconfig. Never log it.
	Kubeconfig []byte
	// Client reads and writes live, without a cache.
	Client client.Client
	// Dynamic is for watches on kinds known at run time only.
	Dynamic dynamic.Interface
	// Mapper knows the kinds of the cluster; it learns new kinds when asked for them. MapperFor binds it to a context.
	Mapper meta.RESTMapper

	// metadata reads metadata only; nil makes a client of its own for each watch.
	metadata metadata.Interface
	// identity is shared by all copies of the cluster; nil reads it anew each time.
	identity *identity
}

// connection is an opened cluster with what belongs to its life: the connection pool and, where tokens are requested, their source.
type connection struct {
	cluster Cluster
	http    *http.Client
	tokens  *tokens
}

// dial prepares clients that share one connection pool and one lazily filled map of kinds. It sends nothing yet. The API server
// paces the clients (priority and fairness), they do not slow themselves down.
func (c *Clients) dial(config *rest.Config, kubeconfig []byte, source *tokens, dial egress.Dial) (*connection, error) {
	config.QPS, config.UserAgent, config.WarningHandler = -1, c.options.UserAgent, rest.NoWarnings{}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if err := cmp.Or(egress.CheckCertificates(config.CAData), egress.CheckPrivateKeys(config.KeyData)); err != nil {
		return nil, refuse("certificates or keys", "cannot be used", err.Error())
	}
	if err := harden(config, dial, c.policy, source); err != nil {
		return nil, refuse("certificates or keys", "cannot be used: "+err.Error(), "they have to be PEM, base64 encoded once")
	}
	pool, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, refuse("certificates or keys", "cannot be used: "+err.Error(), "they have to be PEM, base64 encoded once")
	}
	mapper := boundMapper{kinds: &kinds{config: config, next: pool.Transport, known: lru.New(knownVersions)}, ctx: context.Background()}
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
func harden(config *rest.Config, dial egress.Dial, policy egress.Policy, source *tokens) error {
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

// Identity tells clusters apart, whatever Target and address lead to them.
type Identity struct {
	// UID of the namespace kube-system. It is empty where that does not exist, or where the credentials may not read it.
	UID types.UID
	// Address is a digest of server and certificate authority. Two addresses may lead to the same cluster.
	Address string
}

// longestUID is the longest UID in bytes that is taken from a server; those of API servers have 36.
const longestUID = 128

// identity is read once for all copies of a Cluster that share a connection.
type identity struct {
	mu    sync.Mutex
	known *Identity
}

// Identity returns the identity of the cluster. It asks the cluster once for each connection; an error says that the cluster did not
// answer, or refused the credentials.
func (c *Cluster) Identity(ctx context.Context) (Identity, error) {
	if c.identity == nil {
		return c.readIdentity(ctx)
	}
	c.identity.mu.Lock()
	known := c.identity.known
	c.identity.mu.Unlock()
	if known != nil {
		return *known, nil
	}
	read, err := c.readIdentity(ctx)
	if err != nil {
		return Identity{}, err
	}
	c.identity.mu.Lock()
	defer c.identity.mu.Unlock()
	c.identity.known = &read
	return read, nil
}

// IdentityNow is Identity for a cluster that may be another one by now: it always asks. Identity returns the same from then on.
func (c *Cluster) IdentityNow(ctx context.Context) (Identity, error) {
	read, err := c.readIdentity(ctx)
	if err == nil && c.identity != nil && read.UID != "" {
		c.identity.mu.Lock()
		defer c.identity.mu.Unlock()
		c.identity.known = &read
	}
	return read, err
}

func (c *Cluster) readIdentity(ctx context.Context) (Identity, error) {
	found := Identity{Address: c.Address()}
	namespaces := c.Dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	system, err := namespaces.Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	isMissing := apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) // and not an unknown path
	switch {
	case err == nil && len(system.GetUID()) > longestUID:
		return Identity{}, fmt.Errorf("cannot learn which cluster Target %q leads to: %w", c.Name, errForeign)
	case err == nil:
		found.UID = system.GetUID()
	case !apierrors.IsForbidden(err) && !isMissing:
		return Identity{}, fmt.Errorf("cannot learn which cluster Target %q leads to: %w", c.Name, err)
	}
	return found, nil
}

// Address returns the address of Identity without asking the cluster. It is a digest, because a server URL may hold a user name.
func (c *Cluster) Address() string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", c.Config.Host)
	hash.Write(c.Config.CAData)
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
