// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func TestNextJob(t *testing.T) {
	const known, other = false, true
	for name, c := range map[string]struct {
		asked, job, finished string
		phase                v1alpha1.Phase
		spec                 bool
		want                 string
		step                 step
	}{
		"new, nothing asked for":                {"", "", "", "", other, "", nothing},
		"new, asked for":                        {"1", "", "", "", other, "1", takeNoted},
		"job in the status of a new one":        {"", "1", "", "", other, "1", take},
		"at work":                               {"1", "1", "", "Progressing", known, "1", goOn},
		"at work, asked for the next":           {"2", "1", "", "Progressing", other, "1", goOn},
		"ended":                                 {"1", "1", "1", "Succeeded", known, "", nothing},
		"ended, and somebody changed the spec":  {"1", "1", "1", "Succeeded", other, "", nothing},
		"ended, asked for the next":             {"2", "1", "1", "Failed", other, "2", takeNoted},
		"ended, next job in the status":         {"1", "2", "1", "Succeeded", known, "2", take},
		"ended a job that the status asked for": {"1", "2", "2", "Succeeded", known, "", nothing},
		"ended, deletion failed before":         {"1", "1", "1", "DeleteFailed", known, "", nothing},
		"at work, in a phase of the old kind":   {"1", "1", "", "Init", known, "1", goOn},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{}
			if c.asked != "" {
				execution.Annotations = map[string]string{v1alpha1.JobAnnotation: c.asked}
			}
			if c.spec == other {
				execution.Generation++
			}
			execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = c.job, c.finished, c.phase
			job, step := nextJob(execution)
			assert.Equal(t, c.want, job)
			assert.Equal(t, c.step, step)
		})
	}
}

func TestIsCurrent(t *testing.T) {
	for name, c := range map[string]struct {
		cached, live string
		want         bool
	}{
		"the cache shows the job":     {"2", "2", true},
		"the cache is old":            {"1", "2", true},
		"the job before the last":     {"3", "3", false},
		"the Installation is gone":    {"", "", false},
		"the cache does not show one": {"", "2", true},
	} {
		t.Run(name, func(t *testing.T) {
			reader := func(job string) client.Client {
				known := fake.NewClientBuilder().WithScheme(newScheme(t))
				if job != "" {
					parent := installation()
					parent.Status.JobID = job
					known.WithObjects(parent)
				}
				return known.Build()
			}
			r := &Reconciler{Client: reader(c.cached), Live: reader(c.live)}
			current, err := r.isCurrent(t.Context(), ownedBy(&v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}, installation()), "2")
			require.NoError(t, err)
			assert.Equal(t, c.want, current)
		})
	}
}

// TestAnEarlierJobIsNotTakenForASpecThatAPersonChanged has an Execution whose last job came by status.
func TestAnEarlierJobIsNotTakenForASpecThatAPersonChanged(t *testing.T) {
	b := newBench(t, template("a", "t"))
	parent := installation()
	parent.Status.JobID = "1"
	require.NoError(t, b.api.Create(t.Context(), parent))
	require.NoError(t, b.api.Update(t.Context(), ownedBy(b.execution(), parent)))
	for _, job := range []string{"1", "2"} {
		parent.Status.JobID = job
		require.NoError(t, b.api.Status().Update(t.Context(), parent))
		b.start(job)
		b.end("a", v1alpha1.PhaseSucceeded)
		b.settle()
	}
	require.Equal(t, "1", b.execution().Annotations[v1alpha1.JobAnnotation])
	b.specify(template("a", "t"), template("b", "t"))
	b.settle()
	assert.Equal(t, "2", b.requirePhase(v1alpha1.PhaseSucceeded).Status.JobID)
	assert.Nil(t, b.item("b"))
}

func TestIsLeftBehind(t *testing.T) {
	interrupted := &v1alpha1.Error{Operation: protocol.InterruptOperation}
	for name, c := range map[string]struct {
		operation, job, finished string
		last                     *v1alpha1.Error
		owned, deleted, want     bool
	}{
		"left behind":                            {v1alpha1.OperationInterrupt, "1", "1", interrupted, false, false, true},
		"removed":                                {"", "1", "1", interrupted, false, false, false},
		"job not ended":                          {v1alpha1.OperationInterrupt, "1", "", interrupted, false, false, false},
		"next job asked for":                     {v1alpha1.OperationInterrupt, "2", "1", interrupted, false, false, true},
		"next job given by an Installation":      {v1alpha1.OperationInterrupt, "2", "1", interrupted, true, false, false},
		"next job given with a spec":             {v1alpha1.OperationInterrupt, "1", "1", interrupted, true, false, false},
		"an Installation deletes after the last": {v1alpha1.OperationInterrupt, "1", "1", interrupted, true, true, true},
		"for the job that comes":                 {v1alpha1.OperationInterrupt, "1", "1", nil, false, false, false},
		"last job failed itself":                 {v1alpha1.OperationInterrupt, "1", "1", &v1alpha1.Error{Operation: operation}, false, false, false},
		"another operation":                      {v1alpha1.OperationReconcile, "1", "1", interrupted, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.OperationAnnotation: c.operation}}}
			execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.LastError = c.job, c.finished, c.last
			execution.Status.Phase = v1alpha1.PhaseProgressing
			if c.finished != "" {
				execution.Status.Phase = v1alpha1.PhaseFailed
			}
			if c.owned {
				ownedBy(execution, installation())
			}
			if c.deleted {
				now := metav1.Now()
				execution.DeletionTimestamp = &now
			}
			assert.Equal(t, c.want, isLeftBehind(execution))
		})
	}
}

// looksFinished is the rule of clients that wait.
func looksFinished(execution *v1alpha1.Execution) bool {
	return execution.Annotations[v1alpha1.OperationAnnotation] == "" && execution.Generation == execution.Status.ObservedGeneration &&
		execution.Status.IsIdle() && execution.Status.Phase.IsFinal()
}

// itemLooksFinished is the same rule for a DeployItem.
func itemLooksFinished(item *v1alpha1.DeployItem) bool {
	return item.Status.JobID != "" && item.Status.IsIdle() && item.Status.Phase.IsFinal()
}

// requireNoOldResult lets a job run to its end in which the deployer takes each item up in a write of its own, and checks after every write that
// neither the Execution nor an item that has got the job looks as if it had ended it already.
func (b *bench) requireNoOldResult(job string, names ...string) {
	b.t.Helper()
	running := map[string]bool{}
	for _, name := range names {
		running[name] = true
	}
	b.after = func() {
		require.False(b.t, looksFinished(b.execution()), "%v", b.writes)
		for name := range running {
			if item := b.item(name); item != nil && item.Status.JobID == job {
				require.False(b.t, itemLooksFinished(item), "%s: %v", name, b.writes)
			}
		}
	}
	for i, name := range names {
		b.settle()
		require.Equal(b.t, job, b.item(name).Status.JobID)
		b.deploy(name, func(item *v1alpha1.DeployItem) { item.Status.Phase = v1alpha1.PhaseProgressing })
		b.settle()
		if delete(running, name); i == len(names)-1 {
			b.after = nil
		}
		b.end(name, v1alpha1.PhaseSucceeded)
	}
	b.settle()
	require.Equal(b.t, job, b.requirePhase(v1alpha1.PhaseSucceeded).Status.JobIDFinished)
}

func TestE24WaitingClientsSeeNoOldResult(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t", "a"))
	b.ask("1")
	b.requireNoOldResult("1", "a", "b")
	b.ask("2")
	b.requireNoOldResult("2", "a", "b")
	b.specify(template("a", "t"), template("b", "t", "a"), template("c", "t", "b"))
	b.ask("3")
	b.requireNoOldResult("3", "a", "b", "c")
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
	assert.Equal(t, protocol.InterruptOperation, failed.Status.LastError.Operation)
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
	b.start("2")
	running := b.requirePhase(v1alpha1.PhaseProgressing)
	require.Equal(t, "2", running.Status.JobID)
	require.Empty(t, running.Annotations[v1alpha1.OperationAnnotation])
}

// TestAnInterruptOfTheNextJobIsNotTakenForThatOfTheLast has an Execution whose last job was interrupted, and whose next one is interrupted before it
// has begun, given by status and given with a spec.
func TestAnInterruptOfTheNextJobIsNotTakenForThatOfTheLast(t *testing.T) {
	b := newBench(t, template("a", "t"))
	parent := installation()
	parent.Status.JobID = "1"
	require.NoError(t, b.api.Create(t.Context(), parent))
	require.NoError(t, b.api.Update(t.Context(), ownedBy(b.execution(), parent)))
	b.start("1")
	b.operate(v1alpha1.OperationInterrupt)
	b.settle()
	require.Empty(t, b.requirePhase(v1alpha1.PhaseFailed).Annotations[v1alpha1.OperationAnnotation])
	for _, job := range []string{"2", "3"} {
		parent.Status.JobID = job
		require.NoError(t, b.api.Status().Update(t.Context(), parent))
		if job == "3" {
			b.specify(template("a", "t"), template("b", "t"))
		}
		b.ask(job)
		b.operate(v1alpha1.OperationInterrupt)
		b.settle()
		failed := b.requirePhase(v1alpha1.PhaseFailed)
		assert.Equal(t, job, failed.Status.JobIDFinished)
		assert.Equal(t, protocol.InterruptOperation, failed.Status.LastError.Operation)
		assert.Empty(t, failed.Annotations[v1alpha1.OperationAnnotation])
		b.requireSteady()
	}
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
		b.ask("1")
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

// TestAMetadataPatchThatIsRefusedForGoodEndsTheJobOnce has an API server that finds the finalizer of an Execution invalid, as it finds annotations
// that are too large together.
func TestAMetadataPatchThatIsRefusedForGoodEndsTheJobOnce(t *testing.T) {
	b := newBench(t, template("a", "t"))
	execution := b.execution()
	execution.Finalizers = nil
	require.NoError(t, b.api.Update(t.Context(), execution))
	b.before = func(verb string, obj client.Object) error {
		b.now = b.now.Add(time.Second)
		if verb != "patch" {
			return nil
		}
		return apierrors.NewInvalid(schemaKind(obj), obj.GetName(), field.ErrorList{field.TooLong(field.NewPath("metadata", "annotations"), "", 1)})
	}
	b.start("1")
	failed := b.requirePhase(v1alpha1.PhaseFailed)
	assert.Equal(t, "1", failed.Status.JobIDFinished)
	assert.Len(t, b.events.Events, 1)
	b.requireSteady()
	assert.Len(t, b.events.Events, 1)
	assert.Contains(t, <-b.events.Events, "landscaper.gardener.cloud/token:1", "the event is that of the job")
}
