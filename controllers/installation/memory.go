// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"sync"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// shared is a cache that is opened at its first use, on a Budget that it shares with others where it has been given one.
type shared[K comparable, V any] struct {
	budget *memory.Budget
	once   sync.Once
	cache  *memory.Cache[K, V]
}

func (s *shared[K, V]) entries() *memory.Cache[K, V] {
	s.once.Do(func() { s.cache = memory.Open[K, V](s.budget, nil) })
	return s.cache
}

// shareMemory lets all caches of the controller share one Budget.
func (r *Reconciler) shareMemory() {
	r.sharing.Do(func() {
		if r.Memory == nil {
			r.Memory = memory.New(0)
		}
		r.blueprints.budget, r.issued.budget, r.digests.budget = r.Memory, r.Memory, r.Memory
		r.plans.budget, r.components.budget = r.Memory, r.Memory
	})
}
