// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"context"
	"sync"

	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// MemoryStorage keeps releases for DriverMemory, apart for each tenant and cluster: no cluster says who may see them. What a tenant reaches a cluster
// with may change.
type MemoryStorage struct {
	mu      sync.Mutex
	drivers map[string]*driver.Memory
}

// NewMemoryStorage returns a storage without releases.
func NewMemoryStorage() *MemoryStorage {
	return &MemoryStorage{drivers: map[string]*driver.Memory{}}
}

// Of returns the storage of a namespace.
func (m *MemoryStorage) Of(ctx context.Context, cluster *target.Cluster, namespace string) (*storage.Storage, error) {
	holding, err := cluster.Holding(ctx)
	if err != nil {
		return nil, err
	}
	key := holding + "\n" + namespace
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drivers[key] == nil {
		m.drivers[key] = driver.NewMemory()
	}
	return storage.Init(m.drivers[key]), nil
}
