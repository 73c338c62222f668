// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestNextJob(t *testing.T) {
	for name, c := range map[string]struct {
		asked, job, finished string
		phase                v1alpha1.Phase
		want                 string
		step                 step
	}{
		"new, nothing asked for":              {"", "", "", "", "", nothing},
		"new, asked for":                      {"1", "", "", "", "1", take},
		"job in the status of a new one":      {"", "1", "", "", "1", take},
		"at work":                             {"1", "1", "", "Progressing", "1", goOn},
		"at work, asked for the next":         {"2", "1", "", "Progressing", "1", goOn},
		"ended":                               {"1", "1", "1", "Succeeded", "", nothing},
		"ended, asked for the next":           {"2", "1", "1", "Failed", "2", take},
		"ended, next job in the status":       {"1", "2", "1", "Succeeded", "2", take},
		"ended, deletion failed before":       {"1", "1", "1", "DeleteFailed", "", nothing},
		"at work, in a phase of the old kind": {"1", "1", "", "Init", "1", goOn},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{}
			if c.asked != "" {
				execution.Annotations = map[string]string{v1alpha1.JobAnnotation: c.asked}
			}
			execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = c.job, c.finished, c.phase
			job, step := nextJob(execution)
			assert.Equal(t, c.want, job)
			assert.Equal(t, c.step, step)
		})
	}
}

func TestIsAnswered(t *testing.T) {
	interrupted := &v1alpha1.Error{Operation: interruptOperation}
	for name, c := range map[string]struct {
		operation, job, finished string
		last                     *v1alpha1.Error
		want                     bool
	}{
		"left behind":            {v1alpha1.OperationInterrupt, "1", "1", interrupted, true},
		"removed":                {"", "1", "1", interrupted, false},
		"job not ended":          {v1alpha1.OperationInterrupt, "1", "", interrupted, false},
		"for the job that comes": {v1alpha1.OperationInterrupt, "1", "1", nil, false},
		"last job failed itself": {v1alpha1.OperationInterrupt, "1", "1", &v1alpha1.Error{Operation: operation}, false},
		"another operation":      {v1alpha1.OperationReconcile, "1", "1", interrupted, false},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.OperationAnnotation: c.operation}}}
			execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.LastError = c.job, c.finished, c.last
			assert.Equal(t, c.want, isAnswered(execution))
		})
	}
}

// looksFinished is the rule of clients that wait.
func looksFinished(execution *v1alpha1.Execution) bool {
	return execution.Annotations[v1alpha1.OperationAnnotation] == "" && execution.Status.IsIdle() && execution.Status.Phase.IsFinal()
}

func TestE24WaitingClientsSeeNoOldResult(t *testing.T) {
	b := newBench(t, template("a", "t"))
	assign := func(job string) {
		execution := b.execution()
		execution.Status.JobID = job
		require.NoError(t, b.api.Status().Update(t.Context(), execution))
	}
	assign("1")
	b.settle()
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	require.True(t, looksFinished(b.execution()))

	assign("2")
	b.after = func() { require.False(t, looksFinished(b.execution()), "%v", b.writes) }
	b.settle()
	require.Equal(t, "2", b.item("a").Status.JobID)
	b.after = nil
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	require.True(t, looksFinished(b.execution()))
}

func TestE24InterruptIsAnsweredBeforeItIsForgotten(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t", "a"))
	b.start("1")
	b.operate(v1alpha1.OperationInterrupt)
	b.after = func() {
		if execution := b.execution(); looksFinished(execution) {
			require.Equal(t, v1alpha1.PhaseFailed, execution.Status.Phase)
			require.Empty(t, execution.Annotations[v1alpha1.OperationAnnotation])
			return
		}
		execution := b.execution()
		require.NotEmpty(t, execution.Annotations[v1alpha1.OperationAnnotation], "a request that was forgotten before it was answered: %v", b.writes)
	}
	b.settle()
	failed := b.requirePhase(v1alpha1.PhaseFailed)
	assert.Equal(t, interruptOperation, failed.Status.LastError.Operation)
	for _, name := range []string{"a", "b"} {
		assert.Equal(t, v1alpha1.PhaseFailed, b.item(name).Status.Phase)
		assert.Equal(t, "1", b.item(name).Status.JobIDFinished)
	}
	b.requireSteady()
}

func TestE24InterruptLeftBehindDoesNotEndTheNextJob(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.operate(v1alpha1.OperationInterrupt)
	b.dieBefore(func(verb string, obj client.Object) bool { return verb == "patch" && obj.GetName() == "one" })
	b.pass()
	b.restart()
	require.Equal(t, v1alpha1.OperationInterrupt, b.execution().Annotations[v1alpha1.OperationAnnotation])
	execution := b.execution()
	execution.Annotations[v1alpha1.JobAnnotation] = "2"
	require.NoError(t, b.api.Update(t.Context(), execution))
	b.settle()
	running := b.requirePhase(v1alpha1.PhaseProgressing)
	require.Equal(t, "2", running.Status.JobID)
	require.Empty(t, running.Annotations[v1alpha1.OperationAnnotation])
}

func TestOperationOfAnIdleExecutionIsForgotten(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.operate(v1alpha1.OperationReconcile)
	b.settle()
	require.Empty(t, b.execution().Annotations[v1alpha1.OperationAnnotation])
	require.Empty(t, b.execution().Status.JobID)
}

// TestDeathAtAnyWriteChangesNothing lets the process die before each write of a job in turn. What is there at the end is always the same.
func TestDeathAtAnyWriteChangesNothing(t *testing.T) {
	life := func(t *testing.T, death int) *bench {
		b := newBench(t, template("a", "t"), template("b", "t", "a"))
		count := 0
		b.dieBefore(func(string, client.Object) bool {
			count++
			return count == death
		})
		live := func() {
			for range 10 {
				b.pass()
				if b.dead {
					b.restart()
				}
			}
		}
		execution := b.execution()
		execution.Annotations = map[string]string{v1alpha1.JobAnnotation: "1"}
		require.NoError(t, b.api.Update(t.Context(), execution))
		for _, name := range []string{"a", "b"} {
			live()
			require.Equal(t, "1", b.item(name).Status.JobID)
			b.end(name, v1alpha1.PhaseSucceeded)
		}
		live()
		return b
	}
	unharmed := life(t, 0)
	require.NotEmpty(t, unharmed.writes)
	for death := 1; death <= len(unharmed.writes); death++ {
		t.Run(fmt.Sprintf("before %s", unharmed.writes[death-1]), func(t *testing.T) {
			b := life(t, death)
			b.requirePhase(v1alpha1.PhaseSucceeded)
			b.requireSteady()
			creates := 0
			for _, write := range b.writes {
				if write == "create "+b.item("a").Name {
					creates++
				}
			}
			assert.Equal(t, 1, creates)
		})
	}
}

func TestE17ResultAndErrorAreNeverReturnedTogether(t *testing.T) {
	for name, refusal := range map[string]error{
		"conflict":  apierrors.NewConflict(schema.GroupResource{}, "one", errors.New("changed")),
		"forbidden": apierrors.NewForbidden(schema.GroupResource{}, "one", errors.New("no right")),
		"gone":      apierrors.NewNotFound(schema.GroupResource{}, "one"),
		"invalid":   apierrors.NewInvalid(schema.GroupKind{}, "one", nil),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			execution := b.execution()
			execution.Annotations = map[string]string{v1alpha1.JobAnnotation: "1"}
			require.NoError(t, b.api.Update(t.Context(), execution))
			b.before = func(verb string, _ client.Object) error {
				if verb == "status" {
					return refusal
				}
				return nil
			}
			request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(execution)}
			result, err := b.r.Reconcile(t.Context(), request)
			require.NoError(t, err)
			assert.NotZero(t, result.RequeueAfter)
			assert.Nil(t, b.item("a"), "nothing is created for a job that is not recorded")
		})
	}
}
