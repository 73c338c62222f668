// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package sites knows on which cluster items work, so that the queue can share the workers among clusters, too.
package sites

import (
	"cmp"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Sites knows on which cluster items work, so that a cluster that answers slowly gets only a share of the workers. It is safe for concurrent use.
type Sites struct {
	mu sync.Mutex
	// targets has the Targets of the items that have work.
	targets map[types.NamespacedName]string
	// hosts has the addresses of the clusters that Targets led to when they were opened, users how many items have a Target.
	hosts map[string]string
	users map[string]int
}

func siteOf(namespace, name string) string { return namespace + "/" + name }

// Note keeps the Target of an item.
func (s *Sites) Note(item *v1alpha1.DeployItem) {
	name := items.TargetName(item)
	key := types.NamespacedName{Namespace: item.Namespace, Name: item.Name}
	if name == "" {
		s.Forget(key)
		return
	}
	of := siteOf(item.Namespace, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.targets[key] == of {
		return
	}
	s.drop(key)
	if s.targets == nil {
		s.targets, s.users = map[types.NamespacedName]string{}, map[string]int{}
	}
	s.targets[key] = of
	s.users[of]++
}

// Opened keeps where the Target of an item leads to.
func (s *Sites) Opened(key types.NamespacedName, name string, cluster *target.Cluster) {
	if cluster == nil || cluster.Config == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, has := s.targets[key]
	if !has || of != siteOf(key.Namespace, name) {
		return
	}
	if s.hosts == nil {
		s.hosts = map[string]string{}
	}
	s.hosts[of] = cluster.Config.Host
}

// Forget lets an item go that has no work.
func (s *Sites) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
}

// drop needs the lock.
func (s *Sites) drop(key types.NamespacedName) {
	of, has := s.targets[key]
	if !has {
		return
	}
	delete(s.targets, key)
	if s.users[of]--; s.users[of] <= 0 {
		delete(s.users, of)
		delete(s.hosts, of)
	}
}

// Of returns the Target of an item, "" where it has none.
func (s *Sites) Of(request ctrl.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.targets[request.NamespacedName]
}

// Address returns that of the cluster which a Target led to; the Target where no item has opened it yet.
func (s *Sites) Address(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.hosts[name], name)
}
