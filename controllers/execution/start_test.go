// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// state is what the status of an item says about the job J.
type state string

const (
	fresh    state = "fresh"
	busy     state = "busy with another job"
	ticking  state = "busy with a job by the clock"
	working  state = "working"
	good     state = "good"
	bad      state = "bad"
	nonsense state = "nonsense"
	missing  state = "missing"
)

func (s state) item(name string) *v1alpha1.DeployItem {
	item := &v1alpha1.DeployItem{}
	item.Name = name
	status := &item.Status
	switch s {
	case missing:
		return nil
	case fresh:
		status.JobID, status.JobIDFinished, status.Phase = "I", "I", v1alpha1.PhaseSucceeded
	case busy:
		status.JobID, status.JobIDFinished, status.Phase = "I", "H", v1alpha1.PhaseProgressing
	case ticking:
		status.JobID, status.JobIDFinished, status.Phase = v1alpha1.ContinuousJobPrefix+"1", "I", v1alpha1.PhaseProgressing
	case working:
		status.JobID, status.JobIDFinished, status.Phase = "J", "I", v1alpha1.PhaseProgressing
	case good:
		status.JobID, status.JobIDFinished, status.Phase = "J", "J", v1alpha1.PhaseSucceeded
	case bad:
		status.JobID, status.JobIDFinished, status.Phase = "J", "J", v1alpha1.PhaseFailed
	case nonsense:
		status.JobID, status.JobIDFinished, status.Phase = "J", "J", "Nonsense"
	}
	return item
}

// itemsIn returns items a, b, … in the given states.
func itemsIn(states ...state) map[string]*v1alpha1.DeployItem {
	items := map[string]*v1alpha1.DeployItem{}
	for i, s := range states {
		name := string(rune('a' + i))
		if item := s.item(name); item != nil {
			items[name] = item
		}
	}
	return items
}

// diamond has b and c after a, and d after both.
var diamond = []v1alpha1.DeployItemTemplate{template("a", "t"), template("b", "t", "a"), template("c", "t", "a"), template("d", "t", "b", "c")}

func TestRunnable(t *testing.T) {
	for name, c := range map[string]struct {
		states []state
		want   []string
	}{
		"first alone, an old success is none": {[]state{fresh, fresh, fresh, fresh}, []string{"a"}},
		"nothing while it works":              {[]state{working, fresh, fresh, fresh}, nil},
		"all that depends on it":              {[]state{good, fresh, fresh, fresh}, []string{"b", "c"}},
		"not the last before both":            {[]state{good, good, working, fresh}, nil},
		"the last":                            {[]state{good, good, good, fresh}, []string{"d"}},
		"nothing after a failure":             {[]state{good, bad, fresh, fresh}, nil},
		"nothing after nonsense":              {[]state{good, nonsense, fresh, fresh}, nil},
		"not one that runs another job":       {[]state{good, busy, fresh, fresh}, []string{"c"}},
		"one that runs a job by the clock":    {[]state{good, ticking, fresh, fresh}, []string{"b", "c"}},
		"nothing when all is done":            {[]state{good, good, good, good}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, item := range runnable(diamond, itemsIn(c.states...), "J") {
				names = append(names, item.Name)
			}
			assert.Equal(t, c.want, names)
		})
	}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		states []state
		want   verdict
		failed string
	}{
		"nothing began":                   {[]state{fresh, fresh, fresh, fresh}, unfinished, ""},
		"all succeeded":                   {[]state{good, good, good, good}, allSucceeded, ""},
		"one to go":                       {[]state{good, good, good, working}, unfinished, ""},
		"failed while another works":      {[]state{good, bad, working, fresh}, unfinished, ""},
		"failed and nothing works":        {[]state{good, bad, good, fresh}, someFailed, "b"},
		"the first of two":                {[]state{good, bad, bad, fresh}, someFailed, "b"},
		"nonsense is a failure":           {[]state{good, nonsense, good, fresh}, someFailed, "b"},
		"another job is not this one":     {[]state{good, good, good, busy}, unfinished, ""},
		"a missing item is not a success": {[]state{good, good, good, missing}, unfinished, ""},
	} {
		t.Run(name, func(t *testing.T) {
			result, failed := judge(diamond, itemsIn(c.states...), "J")
			assert.Equal(t, c.want, result)
			if c.failed == "" {
				assert.Nil(t, failed)
				return
			}
			assert.Equal(t, c.failed, failed.Name)
		})
	}
}

func TestJobTakesThePlaceOfThatOfTheClock(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	tick := func(item *v1alpha1.DeployItem) {
		item.Status.JobID, item.Status.Phase = v1alpha1.ContinuousJobPrefix+"1", v1alpha1.PhaseProgressing
	}
	b.deploy("a", tick)
	b.requireSteady()
	b.requirePhase(v1alpha1.PhaseSucceeded)

	b.start("2")
	assert.Equal(t, "2", b.item("a").Status.JobID)
	assert.False(t, b.item("a").Status.IsIdle())
	assert.Empty(t, b.item("a").Status.Phase, "the deployer begins anew")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)

	b.ask("3")
	b.settle()
	b.deploy("a", tick)
	b.operate(v1alpha1.OperationInterrupt)
	b.settle()
	assert.Equal(t, v1alpha1.PhaseFailed, b.item("a").Status.Phase, "an interrupt ends it too")
	assert.True(t, b.item("a").Status.IsIdle())
}

func TestFailureByTheClockIsShown(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.end("b", v1alpha1.PhaseSucceeded)
	b.settle()
	tick := func(phase v1alpha1.Phase, finished string) func(*v1alpha1.DeployItem) {
		return func(item *v1alpha1.DeployItem) {
			item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase = v1alpha1.ContinuousJobPrefix+"1", finished, phase
			item.Status.LastError = &v1alpha1.Error{Message: "it is broken"}
		}
	}
	ended := v1alpha1.ContinuousJobPrefix + "1"
	ready := func() *metav1.Condition {
		return conditions.Get(b.requirePhase(v1alpha1.PhaseSucceeded), meta.ReadyCondition)
	}

	b.deploy("b", tick(v1alpha1.PhaseFailed, ended))
	b.settle()
	assert.Equal(t, protocol.ReasonContinuousFailed, ready().Reason)
	assert.Contains(t, ready().Message, "since the last job deploy item b")
	assert.Contains(t, ready().Message, "it is broken")
	assert.True(t, conditions.IsReconciling(b.execution()))
	b.requireSteady()

	b.deploy("b", tick(v1alpha1.PhaseProgressing, "1"))
	b.requireSteady()
	assert.Equal(t, metav1.ConditionFalse, ready().Status, "while it is tried again nobody knows better")

	b.deploy("b", tick(v1alpha1.PhaseSucceeded, ended))
	b.settle()
	assert.Equal(t, metav1.ConditionTrue, ready().Status)
	assert.False(t, conditions.IsReconciling(b.execution()))
	b.requireSteady()

	b.deploy("b", tick(v1alpha1.PhaseFailed, ended))
	b.settle()
	b.start("2")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.end("b", v1alpha1.PhaseSucceeded)
	b.settle()
	assert.Equal(t, metav1.ConditionTrue, ready().Status, "a job of the Execution decides anew")
}
