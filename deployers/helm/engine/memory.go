// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"sync"

	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// memoryStorage keeps releases for DriverMemory, apart for each connection: no cluster says who may see them.
type memoryStorage struct {
	mu      sync.Mutex
	drivers map[string]*driver.Memory
}

func newMemoryStorage() *memoryStorage {
	return &memoryStorage{drivers: map[string]*driver.Memory{}}
}

// of returns the storage of a namespace.
func (m *memoryStorage) of(cluster *target.Cluster, namespace string) *storage.Storage {
	key := cluster.Connection() + "\n" + namespace
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.drivers[key] == nil {
		m.drivers[key] = driver.NewMemory()
	}
	return storage.Init(m.drivers[key])
}
