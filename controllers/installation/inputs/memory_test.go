// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// jobOf is an Installation that runs a job.
func jobOf(name, job string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	inst.Status.JobID = job
	return inst
}

// closing is a component that counts how often it was closed.
func closing(closed *int) *Component {
	return &Component{lease: lease{close: func() { *closed++ }}}
}

// keptIn keeps a component as a reconciliation does that has ended meanwhile.
func keptIn(m *JobMemory[*Component], inst *v1alpha1.Installation, found *Component) {
	s := &Inputs{}
	s.keepOpen(found)
	m.Keep(inst, found, found, 0)
	s.GiveBack()
}

func TestComponentIsOpenWhileItsJobRuns(t *testing.T) {
	closed, m := 0, &JobMemory[*Component]{}
	inst, found := jobOf("shop", "1"), closing(&closed)
	keptIn(m, inst, found)
	s := &Inputs{}
	again, ok := m.Recall(s, inst)
	require.True(t, ok)
	assert.Same(t, found, again)
	s.GiveBack()
	assert.Zero(t, closed)
}

func TestClosedComponentIsNotUsedAgain(t *testing.T) {
	closed := 0
	found, s := closing(&closed), &Inputs{}
	require.True(t, s.keepOpen(found))
	s.GiveBack()
	require.Equal(t, 1, closed)
	assert.False(t, s.keepOpen(found))
	m := &JobMemory[*Component]{}
	m.Keep(jobOf("shop", "1"), found, found, 0)
	_, ok := m.Recall(s, jobOf("shop", "1"))
	assert.False(t, ok)
}

func TestNothingIsKeptOfAnIdleInstallation(t *testing.T) {
	closed, m := 0, &JobMemory[*Component]{}
	idle := jobOf("shop", "1")
	idle.Status.JobIDFinished = "1"
	keptIn(m, idle, closing(&closed))
	assert.Equal(t, 1, closed)
}

func TestAnotherObjectOfTheSameNameDoesNotRecall(t *testing.T) {
	m := &JobMemory[string]{}
	m.Keep(jobOf("shop", "1"), "kept", nil, 0)
	anew := jobOf("shop", "1")
	anew.UID = "anew"
	for name, other := range map[string]*v1alpha1.Installation{"another job": jobOf("shop", "2"), "another object": anew} {
		_, ok := m.Recall(&Inputs{}, other)
		assert.False(t, ok, name)
	}
}

func TestComponentIsClosedWhenItsJobEnds(t *testing.T) {
	closed, r := 0, &Reader{}
	inst, found := jobOf("shop", "1"), closing(&closed)
	keptIn(&r.components, inst, found)
	r.Forget(client.ObjectKeyFromObject(inst))
	assert.Equal(t, 1, closed)
	_, ok := r.components.Recall(&Inputs{}, inst)
	assert.False(t, ok)
}

func TestComponentStaysOpenUnderAReconciliation(t *testing.T) {
	for name, end := range map[string]func(m *JobMemory[*Component], inst *v1alpha1.Installation){
		"the job ends": func(m *JobMemory[*Component], inst *v1alpha1.Installation) {
			m.Drop(client.ObjectKeyFromObject(inst))
		},
		"another job begins": func(m *JobMemory[*Component], inst *v1alpha1.Installation) {
			keptIn(m, jobOf(inst.Name, "2"), closing(new(int)))
		},
		"others push it out": func(m *JobMemory[*Component], _ *v1alpha1.Installation) {
			for i := range 20 {
				other := closing(new(int))
				require.True(t, other.lease.take())
				m.Keep(jobOf(fmt.Sprint("other-", i), "1"), other, other, 1<<20)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			closed, m := 0, &JobMemory[*Component]{}
			inst, child := jobOf("shop", "1"), &Inputs{}
			keptIn(m, inst, closing(&closed))
			_, ok := m.Recall(child, inst)
			require.True(t, ok)
			end(m, inst)
			assert.Zero(t, closed, "the reconciliation of a sub-installation uses it")
			child.GiveBack()
			assert.Equal(t, 1, closed)
		})
	}
}

func TestPlanKeepsItsComponentOpen(t *testing.T) {
	closed, components, plans := 0, &JobMemory[*Component]{}, &JobMemory[string]{}
	inst, found := jobOf("shop", "1"), closing(&closed)
	keptIn(components, inst, found)
	plans.Keep(inst, "plan", found, 0)
	components.Drop(client.ObjectKeyFromObject(inst))
	require.Zero(t, closed)
	plans.Drop(client.ObjectKeyFromObject(inst))
	assert.Equal(t, 1, closed)
}
