// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
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

// giveBack ends the use of all that the reconciliation has borrowed.
func (in *inputs) giveBack() {
	for _, held := range in.borrowed {
		held.give()
	}
	in.borrowed = nil
}

// jobMemory keeps something of running jobs by Installation, together with the component that it needs; nothing has to survive a restart. A
// component is given back when its entry is dropped at the end of the job, replaced by that of another job, or pushed out by too many others.
// The zero value is ready; it has a Budget of its own.
type jobMemory[T any] struct {
	budget *memory.Budget
	once   sync.Once
	jobs   *memory.Cache[types.NamespacedName, jobEntry[T]]
}

type jobEntry[T any] struct {
	uid       types.UID
	job       string
	value     T
	component *resolvedComponent
}

func (m *jobMemory[T]) entries() *memory.Cache[types.NamespacedName, jobEntry[T]] {
	m.once.Do(func() {
		m.jobs = memory.Open[types.NamespacedName](m.budget, func(gone jobEntry[T]) {
			if gone.component != nil {
				gone.component.lease.give()
			}
		})
	})
	return m.jobs
}

// recall returns what is kept of the running job of an Installation and borrows its component for the reconciliation.
func (m *jobMemory[T]) recall(in *inputs, inst *v1alpha1.Installation) (T, bool) {
	kept, ok := m.entries().Get(inst.Namespace, client.ObjectKeyFromObject(inst))
	if !ok || kept.uid != inst.UID || kept.job != inst.Status.JobID || kept.component != nil && !in.borrow(kept.component) {
		var none T
		return none, false
	}
	return kept.value, true
}

// keep keeps something of the running job of an Installation, with the bytes that it has alone and what it shares with others. The component, nil
// where there is none, is one that the caller has borrowed.
func (m *jobMemory[T]) keep(inst *v1alpha1.Installation, value T, needed *resolvedComponent, own int64, shared ...memory.Piece) {
	if inst.Status.IsIdle() || needed != nil && !needed.lease.take() {
		return
	}
	if needed != nil {
		shared = append(shared, needed.pieces()...)
	}
	m.entries().Put(inst.Namespace, client.ObjectKeyFromObject(inst), jobEntry[T]{inst.UID, inst.Status.JobID, value, needed}, own, shared...)
}

// drop lets go what is kept of an Installation.
func (m *jobMemory[T]) drop(key types.NamespacedName) { m.entries().Remove(key) }

// forgetJob drops everything that is kept of the job of an Installation: it is over, or the Installation is gone.
func (r *Reconciler) forgetJob(key types.NamespacedName) {
	r.plans.drop(key)
	r.components.drop(key)
	r.graces.forget(key, graceOperations...)
}
