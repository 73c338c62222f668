// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// witness sees every state of every Installation. It checks each against the rules for conditions and keeps the history.
type witness struct {
	mu       sync.Mutex
	states   map[client.ObjectKey][]*v1alpha1.Installation
	problems map[string][]string
	settled  *check.Checker
	moving   *check.Checker
}

func newWitness(p *platform.Platform) (*witness, error) {
	polarity := &check.Conditions{NegativePolarity: []string{meta.ReconcilingCondition, meta.StalledCondition}}
	w := &witness{
		states: map[client.ObjectKey][]*v1alpha1.Installation{}, problems: map[string][]string{},
		settled: check.NewChecker(p.Client(), polarity), moving: check.NewInProgressChecker(p.Client()),
	}
	w.settled.DisableFetch, w.moving.DisableFetch = true, true
	watcher, err := p.Client().Watch(context.Background(), &v1alpha1.InstallationList{})
	if err != nil {
		return nil, err
	}
	go func() {
		for event := range watcher.ResultChan() {
			if inst, ok := event.Object.(*v1alpha1.Installation); ok && event.Type != watch.Deleted {
				w.see(inst)
			}
		}
	}()
	return w, nil
}

func (w *witness) see(inst *v1alpha1.Installation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(inst)
	w.states[key] = append(w.states[key], inst)
	for _, problem := range w.judge(inst) {
		w.problems[inst.Namespace] = append(w.problems[inst.Namespace], fmt.Sprintf("%s at %s: %s", key, inst.ResourceVersion, problem))
	}
}

// judge checks the conditions of one state, and that kstatus reads the same from it as the phase says.
func (w *witness) judge(inst *v1alpha1.Installation) []string {
	if len(inst.Status.Conditions) == 0 {
		return nil
	}
	checker := w.moving
	idle := inst.Status.IsIdle()
	if idle && inst.Generation == inst.Status.ObservedGeneration && inst.DeletionTimestamp.IsZero() {
		checker = w.settled
	}
	var problems []string
	if failed, _ := checker.Check(context.Background(), inst); failed != nil {
		problems = append(problems, failed.Error())
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(inst)
	if err != nil {
		return append(problems, err.Error())
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		return append(problems, err.Error())
	}
	if want := expected(inst); result.Status != want {
		problems = append(problems, fmt.Sprintf("phase %q (idle %v) means %s, kstatus reads %s: %s",
			inst.Status.Phase, idle, want, result.Status, result.Message))
	}
	return problems
}

// expected is what kstatus has to read from an Installation.
func expected(inst *v1alpha1.Installation) status.Status {
	switch {
	case !inst.DeletionTimestamp.IsZero():
		return status.TerminatingStatus
	case !inst.Status.IsIdle(), inst.Generation != inst.Status.ObservedGeneration:
		return status.InProgressStatus
	case inst.Status.Phase.IsFailed():
		return status.FailedStatus
	}
	return status.CurrentStatus
}

// requireTruth fails the test if a state in the namespace broke a rule.
func (w *witness) requireTruth(t *testing.T, namespace string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.problems[namespace])
}

// jobs returns the jobs of an Installation so far, in order.
func (w *witness) jobs(namespace, name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var jobs []string
	for _, state := range w.states[client.ObjectKey{Namespace: namespace, Name: name}] {
		if id := state.Status.JobID; id != "" && (len(jobs) == 0 || jobs[len(jobs)-1] != id) {
			jobs = append(jobs, id)
		}
	}
	return jobs
}

// requireSeen waits until some state of an Installation was seen to have a property: the watch may lag behind the test.
func (w *witness) requireSeen(t *testing.T, namespace, name string, property func(*v1alpha1.Installation) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return w.saw(namespace, name, property) }, patience, 20*time.Millisecond,
		"%s", w.history(namespace, name))
}

func (w *witness) saw(namespace, name string, property func(*v1alpha1.Installation) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, state := range w.states[client.ObjectKey{Namespace: namespace, Name: name}] {
		if property(state) {
			return true
		}
	}
	return false
}

// history describes the states of an Installation, for messages.
func (w *witness) history(namespace, name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out strings.Builder
	for _, state := range w.states[client.ObjectKey{Namespace: namespace, Name: name}] {
		fmt.Fprintf(&out, "%s generation %d/%d phase %q job %.8s/%.8s annotations %v ready %s\n", state.ResourceVersion, state.Generation,
			state.Status.ObservedGeneration, state.Status.Phase, state.Status.JobID, state.Status.JobIDFinished,
			state.Annotations, conditions.GetReason(state, meta.ReadyCondition))
	}
	return out.String()
}
