// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// cache is opened at its first use.
type cache[K comparable, V any] struct {
	once  sync.Once
	cache *memory.Cache[K, V]
}

func (c *cache[K, V]) entries() *memory.Cache[K, V] {
	c.once.Do(func() { c.cache = memory.NewCache[K, V](0, nil) })
	return c.cache
}

// lease counts who uses something that has to be closed. It is closed when the last one has given it back; from then on nobody can take it.
type lease struct {
	mu     sync.Mutex
	users  int
	closed bool
	// close runs once; nil where there is nothing to close.
	close func()
}

// take counts one more user. It returns false when it is too late.
func (l *lease) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.users++
	return true
}

// Give counts one user less.
func (l *lease) Give() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users--
	if l.users > 0 {
		return
	}
	l.closed = true
	if l.close != nil {
		l.close()
	}
}

// keepOpen keeps a component open until the reconciliation ends. It returns false when the component was closed meanwhile.
func (in *Inputs) keepOpen(found *Component) bool {
	if !found.lease.take() {
		return false
	}
	in.Borrowed = append(in.Borrowed, &found.lease)
	return true
}

// GiveBack ends the use of all that the reconciliation has borrowed.
func (in *Inputs) GiveBack() {
	for _, held := range in.Borrowed {
		held.Give()
	}
	in.Borrowed = nil
}

// JobMemory keeps something of running jobs by Installation, together with the component that it needs; nothing has to survive a restart. A
// component is given back when its entry is dropped at the end of the job, replaced by that of another job, or pushed out by too many others.
// The zero value is ready.
type JobMemory[T any] struct {
	once sync.Once
	jobs *memory.Cache[types.NamespacedName, jobEntry[T]]
}

type jobEntry[T any] struct {
	uid       types.UID
	job       string
	value     T
	component *Component
}

func (m *JobMemory[T]) entries() *memory.Cache[types.NamespacedName, jobEntry[T]] {
	m.once.Do(func() {
		m.jobs = memory.NewCache[types.NamespacedName](0, func(gone jobEntry[T]) {
			if gone.component != nil {
				gone.component.lease.Give()
			}
		})
	})
	return m.jobs
}

// Recall returns what is kept of the running job of an Installation and borrows its component for the reconciliation.
func (m *JobMemory[T]) Recall(in *Inputs, inst *v1alpha1.Installation) (T, bool) {
	kept, ok := m.entries().Get(client.ObjectKeyFromObject(inst))
	if !ok || kept.uid != inst.UID || kept.job != inst.Status.JobID || kept.component != nil && !in.keepOpen(kept.component) {
		var none T
		return none, false
	}
	return kept.value, true
}

// Keep keeps something of the running job of an Installation that takes so many bytes beside its component. That, nil where there is none, is one that
// the caller has borrowed.
func (m *JobMemory[T]) Keep(inst *v1alpha1.Installation, value T, needed *Component, bytes int64) {
	if inst.Status.IsIdle() || needed != nil && !needed.lease.take() {
		return
	}
	m.entries().Put(client.ObjectKeyFromObject(inst), jobEntry[T]{inst.UID, inst.Status.JobID, value, needed}, bytes+needed.weight())
}

// Drop lets go what is kept of an Installation.
func (m *JobMemory[T]) Drop(key types.NamespacedName) { m.entries().Remove(key) }
