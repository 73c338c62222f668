// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// places bound the Pods that the DeployItems of one namespace have at the same time, so that no namespace fills the host cluster. An item has its
// place from before its Pod is made until its job is over. It is safe for concurrent use.
type places struct {
	limit int

	mu      sync.Mutex
	tenants map[string]*tenant
}

// tenant is one namespace.
type tenant struct {
	taken map[types.NamespacedName]struct{}
	// waiting get the next places in this order.
	waiting []waiter
}

// waiter is an item that waits for a place.
type waiter struct {
	item types.NamespacedName
	// wake is called when it has one; it may be nil.
	wake func()
}

func newPlaces(limit int) *places { return &places{limit: limit, tenants: map[string]*tenant{}} }

func (p *places) of(namespace string) *tenant {
	if p.tenants[namespace] == nil {
		p.tenants[namespace] = &tenant{taken: map[types.NamespacedName]struct{}{}}
	}
	return p.tenants[namespace]
}

// take reports whether an item has a place. If not it waits for one, and wake is called when it has got it.
func (p *places) take(item types.NamespacedName, wake func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.of(item.Namespace)
	if _, has := t.taken[item]; has || len(t.taken) < p.limit {
		t.taken[item] = struct{}{}
		return true
	}
	if at := t.find(item); at >= 0 {
		t.waiting[at].wake = wake // that of a newer job
	} else {
		t.waiting = append(t.waiting, waiter{item, wake})
	}
	return false
}

// hold gives an item a place that it has in fact, although there may be none left.
func (p *places) hold(item types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.of(item.Namespace)
	t.drop(item)
	t.taken[item] = struct{}{}
}

// count returns how many places the items of a namespace have.
func (p *places) count(namespace string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.tenants[namespace]; t != nil {
		return len(t.taken)
	}
	return 0
}

// leave gives up the place of an item, or its waiting for one.
func (p *places) leave(item types.NamespacedName) {
	for _, next := range p.handOn(item) {
		if next.wake != nil {
			next.wake()
		}
	}
}

// handOn returns the items that have got a place.
func (p *places) handOn(item types.NamespacedName) (next []waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.of(item.Namespace)
	delete(t.taken, item)
	t.drop(item)
	for len(t.taken) < p.limit && len(t.waiting) > 0 {
		next = append(next, t.waiting[0])
		t.taken[t.waiting[0].item] = struct{}{}
		t.waiting = t.waiting[1:]
	}
	if len(t.taken) == 0 {
		delete(p.tenants, item.Namespace)
	}
	return next
}

func (t *tenant) find(item types.NamespacedName) int {
	return slices.IndexFunc(t.waiting, func(w waiter) bool { return w.item == item })
}

func (t *tenant) drop(item types.NamespacedName) {
	if at := t.find(item); at >= 0 {
		t.waiting = slices.Delete(t.waiting, at, at+1)
	}
}
