// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

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

// Connection tells apart what clusters are reached with: server, trust, credentials, proxy and server name, and who acts. It is a digest. Clusters
// that no Clients has opened have a connection of their own each.
func (c *Cluster) Connection() string {
	if c.connection == "" {
		return fmt.Sprintf("%p", c.Config)
	}
	return c.connection
}

// Address returns the address of Identity without asking the cluster. It is a digest, because a server URL may hold a user name.
func (c *Cluster) Address() string {
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n", c.Config.Host)
	hash.Write(c.Config.CAData)
	return hex.EncodeToString(hash.Sum(nil)[:8])
}
