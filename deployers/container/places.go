// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// places bound the Pods that the DeployItems of one namespace have at the same time, so that no namespace fills the host cluster. An item has its
// place from before its Pod is made until its job is over. It is safe for concurrent use.
type places struct {
	limit int

	mu    sync.Mutex
	taken map[types.NamespacedName]struct{}
	// waiting has for each item that waits for a place what wakes it to ask again.
	waiting map[types.NamespacedName]func()
}

func newPlaces(limit int) *places {
	return &places{limit: limit, taken: map[types.NamespacedName]struct{}{}, waiting: map[types.NamespacedName]func(){}}
}

// take reports whether an item has a place. If not, wake is called when it may have one.
func (p *places) take(item types.NamespacedName, wake func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, has := p.taken[item]; !has && p.countLocked(item.Namespace) >= p.limit {
		p.waiting[item] = wake
		return false
	}
	delete(p.waiting, item)
	p.taken[item] = struct{}{}
	return true
}

// hold gives an item a place that it has in fact, although there may be none left.
func (p *places) hold(item types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.waiting, item)
	p.taken[item] = struct{}{}
}

// count returns how many places the items of a namespace have.
func (p *places) count(namespace string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.countLocked(namespace)
}

func (p *places) countLocked(namespace string) (count int) {
	for item := range p.taken {
		if item.Namespace == namespace {
			count++
		}
	}
	return count
}

// leave gives up the place of an item, or its waiting for one, and wakes those of its namespace that wait.
func (p *places) leave(item types.NamespacedName) {
	p.mu.Lock()
	delete(p.taken, item)
	delete(p.waiting, item)
	waiting := maps.Clone(p.waiting)
	p.mu.Unlock()
	for other, wake := range waiting {
		if other.Namespace == item.Namespace {
			wake()
		}
	}
}
