// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// jobOf is an Installation that runs a job.
func jobOf(name, job string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	inst.Status.JobID = job
	return inst
}

// closing is a component that counts how often it was closed.
func closing(closed *int) *resolvedComponent {
	return &resolvedComponent{lease: lease{close: func() { *closed++ }}}
}

// keptIn keeps a component as a reconciliation does that has ended meanwhile.
func keptIn(m *jobMemory[*resolvedComponent], inst *v1alpha1.Installation, found *resolvedComponent) {
	s := &inputs{}
	s.borrow(found)
	m.keep(inst, found, found, 0)
	s.giveBack()
}

func TestComponentIsOpenWhileItsJobRuns(t *testing.T) {
	closed, m := 0, &jobMemory[*resolvedComponent]{}
	inst, found := jobOf("shop", "1"), closing(&closed)
	keptIn(m, inst, found)
	s := &inputs{}
	again, ok := m.recall(s, inst)
	require.True(t, ok)
	assert.Same(t, found, again)
	s.giveBack()
	assert.Zero(t, closed)
}

func TestComponentIsClosedWhenItsJobEnds(t *testing.T) {
	closed, r := 0, &Reconciler{}
	inst, found := jobOf("shop", "1"), closing(&closed)
	keptIn(&r.components, inst, found)
	r.plans.keep(inst, remembered{component: found}, found, 0)
	r.forgetJob(client.ObjectKeyFromObject(inst))
	assert.Equal(t, 1, closed)
	_, ok := r.components.recall(&inputs{}, inst)
	assert.False(t, ok)
}

func TestComponentStaysOpenUnderAReconciliation(t *testing.T) {
	for name, end := range map[string]func(m *jobMemory[*resolvedComponent], inst *v1alpha1.Installation){
		"the job ends": func(m *jobMemory[*resolvedComponent], inst *v1alpha1.Installation) {
			m.drop(client.ObjectKeyFromObject(inst))
		},
		"another job begins": func(m *jobMemory[*resolvedComponent], inst *v1alpha1.Installation) {
			keptIn(m, jobOf(inst.Name, "2"), closing(new(int)))
		},
		"others push it out": func(m *jobMemory[*resolvedComponent], _ *v1alpha1.Installation) {
			for i := range 20 {
				other := closing(new(int))
				require.True(t, other.lease.take())
				m.keep(jobOf(fmt.Sprint("other-", i), "1"), other, other, 1<<19)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			closed, m := 0, &jobMemory[*resolvedComponent]{budget: memory.New(1 << 20)}
			inst, child := jobOf("shop", "1"), &inputs{}
			keptIn(m, inst, closing(&closed))
			_, ok := m.recall(child, inst)
			require.True(t, ok)
			end(m, inst)
			assert.Zero(t, closed, "the reconciliation of a sub-installation uses it")
			child.giveBack()
			assert.Equal(t, 1, closed)
		})
	}
}

func TestPlanKeepsItsComponentOpen(t *testing.T) {
	closed, r := 0, &Reconciler{}
	inst, found := jobOf("shop", "1"), closing(&closed)
	keptIn(&r.components, inst, found)
	r.plans.keep(inst, remembered{component: found}, found, 0)
	r.components.drop(client.ObjectKeyFromObject(inst))
	require.Zero(t, closed)
	r.plans.drop(client.ObjectKeyFromObject(inst))
	assert.Equal(t, 1, closed)
}

func TestClosedComponentIsNotUsedAgain(t *testing.T) {
	closed := 0
	found, s := closing(&closed), &inputs{}
	require.True(t, s.borrow(found))
	s.giveBack()
	require.Equal(t, 1, closed)
	assert.False(t, s.borrow(found))
	m := &jobMemory[*resolvedComponent]{}
	m.keep(jobOf("shop", "1"), found, found, 0)
	_, ok := m.recall(s, jobOf("shop", "1"))
	assert.False(t, ok)
}

func TestNothingIsKeptOfAnIdleInstallation(t *testing.T) {
	closed, m := 0, &jobMemory[*resolvedComponent]{}
	idle := jobOf("shop", "1")
	idle.Status.JobIDFinished = "1"
	keptIn(m, idle, closing(&closed))
	assert.Equal(t, 1, closed)
}

func TestAnotherObjectOfTheSameNameDoesNotRecall(t *testing.T) {
	m := &jobMemory[string]{}
	m.keep(jobOf("shop", "1"), "kept", nil, 0)
	anew := jobOf("shop", "1")
	anew.UID = "anew"
	for name, other := range map[string]*v1alpha1.Installation{"another job": jobOf("shop", "2"), "another object": anew} {
		_, ok := m.recall(&inputs{}, other)
		assert.False(t, ok, name)
	}
}
