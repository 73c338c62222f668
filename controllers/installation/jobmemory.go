// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

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

// give counts one user less.
func (l *lease) give() {
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

// borrow keeps a component open until the reconciliation ends. It returns false when the component was closed meanwhile.
func (in *inputs) borrow(found *resolvedComponent) bool {
	if !found.lease.take() {
		return false
	}
	in.borrowed = append(in.borrowed, &found.lease)
	return true
}

// giveBack ends the use of all components that the reconciliation has borrowed.
func (in *inputs) giveBack() {
	for _, held := range in.borrowed {
		held.give()
	}
	in.borrowed = nil
}

// rememberedJobs is for how many running jobs something is kept in memory.
const rememberedJobs = 512

// jobMemory keeps something of running jobs by Installation, together with the component that it needs; nothing has to survive a restart. A
// component is given back when its entry is dropped at the end of the job, replaced by that of another job, or pushed out by too many others.
type jobMemory[T any] struct {
	once    sync.Once
	keeping sync.Mutex
	jobs    *lru.Cache[types.NamespacedName, jobEntry[T]]
}

type jobEntry[T any] struct {
	uid       types.UID
	job       string
	value     T
	component *resolvedComponent
}

func (m *jobMemory[T]) entries() *lru.Cache[types.NamespacedName, jobEntry[T]] {
	m.once.Do(func() {
		m.jobs, _ = lru.NewWithEvict(rememberedJobs, func(_ types.NamespacedName, pushed jobEntry[T]) {
			if pushed.component != nil {
				pushed.component.lease.give()
			}
		})
	})
	return m.jobs
}

// recall returns what is kept of the running job of an Installation and borrows its component for the reconciliation.
func (m *jobMemory[T]) recall(in *inputs, inst *v1alpha1.Installation) (T, bool) {
	kept, ok := m.entries().Get(client.ObjectKeyFromObject(inst))
	if !ok || kept.uid != inst.UID || kept.job != inst.Status.JobID || kept.component != nil && !in.borrow(kept.component) {
		var none T
		return none, false
	}
	return kept.value, true
}

// keep keeps something of the running job of an Installation. The component, nil where there is none, is one that the caller has borrowed.
func (m *jobMemory[T]) keep(inst *v1alpha1.Installation, value T, needed *resolvedComponent) {
	if inst.Status.IsIdle() || needed != nil && !needed.lease.take() {
		return
	}
	m.keeping.Lock() // replacing an entry gives nothing back
	defer m.keeping.Unlock()
	key := client.ObjectKeyFromObject(inst)
	m.entries().Remove(key)
	m.entries().Add(key, jobEntry[T]{inst.UID, inst.Status.JobID, value, needed})
}

// drop lets go what is kept of an Installation.
func (m *jobMemory[T]) drop(key types.NamespacedName) { m.entries().Remove(key) }

// forgetJob drops everything that is kept of the job of an Installation: it is over, or the Installation is gone.
func (r *Reconciler) forgetJob(key types.NamespacedName) {
	r.plans.drop(key)
	r.components.drop(key)
	r.graces.forget(key, graceOperations...)
}
