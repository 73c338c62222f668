// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// recordPanics records panics in the namespace of a stage, as our processes do.
func (s *stage) recordPanics() {
	s.t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(s.t, v1alpha1.AddToScheme(scheme))
	mgr, err := ctrl.NewManager(s.user, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	require.NoError(s.t, err)
	handlers := slices.Clone(utilruntime.PanicHandlers)
	s.t.Cleanup(func() { utilruntime.PanicHandlers = handlers })
	require.NoError(s.t, notify.RecordPanics(mgr, s.namespace))
	platform.Run(context.Background(), s.t, mgr)
}

func TestC30APanicIsRecordedAndTheItemTriedAgain(t *testing.T) {
	calls := 0
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		if calls++; calls <= 2 {
			panic("broken")
		}
		return Outcome{Done: true}, nil
	}}, Options{})
	s.recordPanics()
	item := s.create("item")
	start := s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)

	problems := &v1alpha1.CriticalProblems{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "critical-problems"}}
	require.NoError(t, s.p.Await(s.context(), problems, func() bool { return len(problems.Spec.CriticalProblems) > 0 }))
	pod, err := os.Hostname()
	require.NoError(t, err)
	require.Len(t, problems.Spec.CriticalProblems, 1, "the second panic is the same")
	problem := problems.Spec.CriticalProblems[0]
	assert.Equal(t, pod, problem.PodName)
	assert.WithinRange(t, problem.CreationTime.Time, start.Truncate(time.Second), time.Now())
	assert.Contains(t, problem.Description, "a value of type string in ")
	assert.Contains(t, problem.Description, "contract.TestC30APanicIsRecordedAndTheItemTriedAgain.func1 (contract/panics_test.go:")
}
