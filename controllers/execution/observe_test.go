// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

func TestE05NonsenseOfAForeignDeployerEndsTheJob(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for name, nonsense := range map[string]func(*v1alpha1.DeployItemStatus){
		"reason with a space": func(s *v1alpha1.DeployItemStatus) {
			s.LastError = &v1alpha1.Error{Reason: "Deployment failed", Message: "m"}
		},
		"empty error":             func(s *v1alpha1.DeployItemStatus) { s.LastError = &v1alpha1.Error{} },
		"long reason and message": func(s *v1alpha1.DeployItemStatus) { s.LastError = &v1alpha1.Error{Reason: long, Message: long} },
		"many codes": func(s *v1alpha1.DeployItemStatus) {
			s.LastError = &v1alpha1.Error{Reason: "R", Message: "m"}
			for range 100 {
				s.LastError.Codes = append(s.LastError.Codes, "", v1alpha1.ErrorCode(long[:80]))
			}
		},
		"no error":   func(*v1alpha1.DeployItemStatus) {},
		"long phase": func(s *v1alpha1.DeployItemStatus) { s.Phase = v1alpha1.Phase(long) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			b.start("1")
			b.deploy("a", func(item *v1alpha1.DeployItem) {
				item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID
				nonsense(&item.Status)
			})
			b.settle()
			failed := b.requirePhase(v1alpha1.PhaseFailed)
			assert.LessOrEqual(t, len(failed.Status.LastError.Message), protocol.MaxMessage)
			assert.LessOrEqual(t, len(failed.Status.LastError.Codes), 16)
			assert.Contains(t, failed.Status.LastError.Message, "deploy item a")
			b.requireSteady()
			b.start("2")
			require.Equal(t, "2", b.item("a").Status.JobID, "the next job begins")
		})
	}
}

func TestE05StatusThatTheAPIServerWouldRefuseIsMended(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.deploy("a", func(item *v1alpha1.DeployItem) {
		item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID
		item.Status.Conditions = []metav1.Condition{{Type: "Odd", Status: "True", Reason: "Odd"}}
		item.Status.LastErrors = []*v1alpha1.Error{{}, nil}
	})
	b.settle()
	b.start("2")
	status := b.item("a").Status
	assert.Empty(t, status.Conditions, "the API server refuses conditions without time")
	assert.False(t, status.LastErrors[0].LastUpdateTime.IsZero())
	assert.False(t, status.LastErrors[0].LastTransitionTime.IsZero())
}

func TestFailureKeepsTheCauseOfTheItem(t *testing.T) {
	for name, c := range map[string]struct {
		last            *v1alpha1.Error
		reason, message string
	}{
		"without error":  {nil, "DeployItemFailed", "deploy item a (one-a) is Failed"},
		"with reason":    {&v1alpha1.Error{Reason: "Timeout", Message: "too late"}, "Timeout", "deploy item a (one-a): too late"},
		"without reason": {&v1alpha1.Error{Message: "too late"}, "DeployItemFailed", "deploy item a (one-a): too late"},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
				Name: "one-a", Labels: map[string]string{v1alpha1.ExecutionManagedNameLabel: "a"},
			}}
			item.Status.Phase, item.Status.LastError = v1alpha1.PhaseFailed, c.last
			failure := itemFailure(item)
			assert.Equal(t, c.reason, failure.Reason)
			assert.Equal(t, c.message, failure.Error())
		})
	}
}

func TestFailedItemHoldsBackWhatDependsOnIt(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t", "a"), template("c", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseFailed)
	b.settle()
	b.requirePhase(v1alpha1.PhaseProgressing)
	assert.Empty(t, b.item("b").Status.JobID)
	b.requireSteady()
	b.end("c", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseFailed)
	assert.Len(t, b.events.Events, 1)
	b.requireSteady()
}

func TestStaleExecutionDecidesNothing(t *testing.T) {
	b := newBench(t, template("a", "t"))
	asked := b.execution()
	asked.Annotations = map[string]string{v1alpha1.JobAnnotation: "1"}
	require.NoError(t, b.api.Update(t.Context(), asked))
	b.cached[keyOf(asked)] = b.execution()
	b.pass()
	require.Equal(t, "1", b.execution().Status.JobID)
	b.requireSteady()
	delete(b.cached, keyOf(asked))
	b.settle()
	require.Equal(t, "1", b.item("a").Status.JobID)
}

func TestStaleItemDecidesNothing(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t", "a"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	old := b.item("b")
	b.cached[keyOf(old)] = old
	b.pass()
	require.Equal(t, "1", b.item("b").Status.JobID)
	b.requireSteady()
}

func TestItemThatTheCacheHasNotSeenIsNotCreatedTwice(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.cached[keyOf(&v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: storage.ChildName("one", "a")}})] = nil
	b.start("1")
	result := b.pass()
	assert.NotZero(t, result.RequeueAfter)
	assert.LessOrEqual(t, result.RequeueAfter, 5*time.Second)
	b.requireSteady()
}

func TestItemThatChangedSinceItWasReadIsNotOverwritten(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseFailed)
	b.settle()
	old := b.item("a")
	b.deploy("a", func(item *v1alpha1.DeployItem) { item.Status.JobID = "somebody else's" })
	b.restart()
	b.cached[keyOf(old)] = old
	b.ask("2")
	b.pass()
	b.pass()
	assert.Equal(t, "somebody else's", b.item("a").Status.JobID)
	assert.Nil(t, b.execution().Status.LastError, "a lost race is not shown")
	delete(b.cached, keyOf(old))
	b.deploy("a", func(item *v1alpha1.DeployItem) { item.Status.JobIDFinished = item.Status.JobID })
	b.settle()
	assert.Equal(t, "2", b.item("a").Status.JobID)
}

func TestTheCauseOfAnItemThatIsTriedAgainIsShown(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t"))
	b.start("1")
	fails := func(name, message string) {
		b.deploy(name, func(item *v1alpha1.DeployItem) {
			item.Status.Phase, item.Status.LastError = v1alpha1.PhaseProgressing, &v1alpha1.Error{Message: message}
		})
	}
	requireShown := func(writes int, message string) {
		t.Helper()
		before := len(b.writes)
		b.settle()
		execution := b.requirePhase(v1alpha1.PhaseProgressing)
		require.Equal(t, message, conditions.GetMessage(execution, meta.ReadyCondition))
		require.Equal(t, message, conditions.GetMessage(execution, meta.ReconcilingCondition))
		require.Len(t, b.writes[before:], writes, "%v", b.writes[before:])
	}
	requireShown(0, workingMessage)
	fails("b", "try 1: no route")
	requireShown(1, "deploy item b ("+b.item("b").Name+"): try 1: no route")
	fails("b", "try 2: no route")
	requireShown(0, "deploy item b ("+b.item("b").Name+"): try 1: no route")
	fails("b", "no right")
	requireShown(1, "deploy item b ("+b.item("b").Name+"): no right")
	fails("a", "no right")
	requireShown(1, "deploy item a ("+b.item("a").Name+"): no right")
	b.deploy("a", func(item *v1alpha1.DeployItem) { item.Status.LastError = nil })
	b.deploy("b", func(item *v1alpha1.DeployItem) { item.Status.LastError = nil })
	requireShown(1, workingMessage)
	b.requireSteady()
}

func TestWhatAnItemWaitsForIsShownAtOnce(t *testing.T) {
	for _, reason := range []string{protocol.ReasonAgentUnreachable, protocol.ReasonDeployerBusy, protocol.ReasonWaiting, "TargetContentNotFound"} {
		t.Run(reason, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			b.start("1")
			b.deploy("a", func(item *v1alpha1.DeployItem) { protocol.Progress(item, reason, "it waits") })
			b.settle()
			execution := b.requirePhase(v1alpha1.PhaseProgressing)
			assert.Equal(t, reason, conditions.GetReason(execution, meta.ReadyCondition))
			assert.Equal(t, "deploy item a ("+b.item("a").Name+"): it waits", conditions.GetMessage(execution, meta.ReadyCondition))
			b.requireSteady()

			b.now = b.now.Add(unattended + time.Second)
			b.settle()
			assert.Equal(t, protocol.CauseOf(execution), protocol.CauseOf(b.execution()), "the same cause is not shown anew once it lasts")
		})
	}
}

func TestCauseOfARunningJob(t *testing.T) {
	item := func(job, finished string, phase v1alpha1.Phase, message string) *v1alpha1.DeployItem {
		item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
			Name: "one-a", Labels: map[string]string{v1alpha1.ExecutionManagedNameLabel: "a"},
		}}
		item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase = job, finished, phase
		if message != "" {
			item.Status.LastError = &v1alpha1.Error{Message: message}
		}
		return item
	}
	waiting := item("1", "", v1alpha1.PhaseProgressing, "")
	protocol.Progress(waiting, protocol.ReasonWaiting, "waiting for Deployment n/d")
	healthy, failing := item("1", "", v1alpha1.PhaseProgressing, ""), item("1", "", v1alpha1.PhaseProgressing, "boom")
	for name, tc := range map[string]struct {
		items []*v1alpha1.DeployItem
		want  string
	}{
		"none":                               {},
		"at work":                            {items: []*v1alpha1.DeployItem{healthy}},
		"tried again":                        {items: []*v1alpha1.DeployItem{failing}, want: "deploy item a (one-a): boom"},
		"the first one counts":               {items: []*v1alpha1.DeployItem{healthy, failing, item("1", "", "Progressing", "later")}, want: "deploy item a (one-a): boom"},
		"uninstallation tried again":         {items: []*v1alpha1.DeployItem{item("1", "", v1alpha1.PhaseDeleting, "boom")}, want: "deploy item a (one-a): boom"},
		"waits":                              {items: []*v1alpha1.DeployItem{healthy, waiting}, want: "deploy item a (one-a): waiting for Deployment n/d"},
		"a retry comes before a wait":        {items: []*v1alpha1.DeployItem{waiting, failing}, want: "deploy item a (one-a): boom"},
		"failed in the job before":           {items: []*v1alpha1.DeployItem{item("0", "0", v1alpha1.PhaseFailed, "boom")}},
		"job handed over, not yet picked up": {items: []*v1alpha1.DeployItem{item("1", "", v1alpha1.PhaseFailed, "boom")}},
		"not picked up at all":               {items: []*v1alpha1.DeployItem{item("1", "", "", "boom")}},
		"failed in the job":                  {items: []*v1alpha1.DeployItem{item("1", "1", v1alpha1.PhaseFailed, "boom")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scope{execution: &v1alpha1.Execution{}, now: time.Now()}
			s.execution.Status.JobID = "1"
			assert.Equal(t, tc.want, s.causeAt(tc.items).Message)
		})
	}
}
