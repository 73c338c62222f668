// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

const (
	// maxContents is how many contents of Targets one search looks at.
	maxContents = 200
	// maxLeading is how many connections one search returns.
	maxLeading = 5
)

// Leading returns clusters behind the Targets of a namespace that lead to an address, see Identity. They come in order of the names of their
// Targets, one for each content, and only a few: Targets of one content are as good as one. Nothing is sent to any cluster. Whether the one
// behind an address still is the one that a caller knows is left to the caller. Targets that cannot be opened lead nowhere; the error says that
// the landscaper cluster did not answer, and that nothing was found without it.
func (c *Clients) Leading(ctx context.Context, cache, live client.Reader, namespace, address string, actor Actor) ([]*Cluster, error) {
	targets := &v1alpha1.TargetList{}
	if err := cache.List(ctx, targets, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the Targets of namespace %s: %w", namespace, err)
	}
	search := search{clients: c, live: live, address: address, actor: actor, secrets: map[reading]bool{}, seen: map[*connection]bool{}}
	slices.SortFunc(targets.Items, func(a, b v1alpha1.Target) int { return cmp.Compare(a.Name, b.Name) })
	for i := range targets.Items {
		if len(search.found) == maxLeading || search.looked == maxContents {
			break
		}
		var problem *Error
		if err := search.look(ctx, &targets.Items[i]); err != nil && !errors.As(err, &problem) {
			search.problem = err
		}
	}
	if len(search.found) > 0 {
		return search.found, nil
	}
	return nil, search.problem
}

// reading is a Secret with who it is read for.
type reading struct {
	secret  v1alpha1.LocalSecretReference
	account string
}

// search is one call of Leading.
type search struct {
	clients *Clients
	live    client.Reader
	address string
	actor   Actor
	// secrets and seen are what was looked at: Targets often share their content.
	secrets map[reading]bool
	seen    map[*connection]bool
	looked  int
	found   []*Cluster
	problem error
}

// look adds the cluster of a Target if it is one that is looked for.
func (s *search) look(ctx context.Context, target *v1alpha1.Target) error {
	if target.Spec.Type != v1alpha1.KubernetesClusterTargetType {
		return nil
	}
	if ref := target.Spec.SecretRef; ref != nil && target.Spec.Configuration == nil {
		once := reading{secret: *ref, account: target.Spec.ServiceAccountName}
		if s.secrets[once] {
			return nil
		}
		s.secrets[once] = true
	}
	s.looked++
	opened, err := s.clients.connectionOf(ctx, s.live, target, s.actor)
	if err != nil || s.seen[opened] || opened.cluster.Address() != s.address {
		return err
	}
	s.seen[opened] = true
	cluster, err := opened.named(ctx, target)
	if err != nil {
		return err
	}
	s.found = append(s.found, cluster)
	return nil
}
