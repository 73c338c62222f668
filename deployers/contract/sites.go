// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// sites knows on which cluster items work, so that a cluster that answers slowly gets only a share of the workers. It is safe for concurrent use.
type sites struct {
	mu sync.Mutex
	// targets has the Targets of the items that have work.
	targets map[types.NamespacedName]types.NamespacedName
	// hosts has the addresses of the clusters that Targets led to when they were opened, users how many items have a Target.
	hosts map[types.NamespacedName]string
	users map[types.NamespacedName]int
}

// note keeps the Target of an item.
func (s *sites) note(item *v1alpha1.DeployItem) {
	name := targetName(item)
	key := types.NamespacedName{Namespace: item.Namespace, Name: item.Name}
	if name == "" {
		s.forget(key)
		return
	}
	of := types.NamespacedName{Namespace: item.Namespace, Name: name}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.targets[key] == of {
		return
	}
	s.drop(key)
	if s.targets == nil {
		s.targets, s.users = map[types.NamespacedName]types.NamespacedName{}, map[types.NamespacedName]int{}
	}
	s.targets[key] = of
	s.users[of]++
}

// opened keeps where the Target of an item leads to.
func (s *sites) opened(key types.NamespacedName, name string, cluster *target.Cluster) {
	if cluster == nil || cluster.Config == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of, has := s.targets[key]
	if !has || of.Name != name {
		return
	}
	if s.hosts == nil {
		s.hosts = map[types.NamespacedName]string{}
	}
	s.hosts[of] = cluster.Config.Host
}

// forget lets an item go that has no work.
func (s *sites) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(key)
}

// drop needs the lock.
func (s *sites) drop(key types.NamespacedName) {
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

// of returns the cluster that an item works on: its address, or its Target where no item has opened that yet; "" without Target.
func (s *sites) of(request ctrl.Request) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	of, has := s.targets[request.NamespacedName]
	if !has {
		return ""
	}
	if host := s.hosts[of]; host != "" {
		return host
	}
	return of.String()
}
