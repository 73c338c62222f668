// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestIsStuck(t *testing.T) {
	at := func(phase v1alpha1.Phase, last *protocol.Failure) *v1alpha1.Installation {
		child := fixture.WithJobs("job", "former")
		child.Status.Phase, child.Status.LastError = phase, protocol.NewError(nil, last, time.Now())
		protocol.Progress(child, meta.ProgressingWithRetryReason, "item: belongs to another")
		return child
	}
	own := &protocol.Failure{Operation: Operation, Reason: "Forbidden", Err: errors.New("exceeded quota")}
	working, deleted, idle, now := at("Progressing", Unfinished), at("Progressing", Unfinished), at("Progressing", Unfinished), metav1.Now()
	protocol.Progress(working, meta.ProgressingReason, "deploy items are at work")
	deleted.DeletionTimestamp, idle.Status.JobIDFinished = &now, "job"
	execution := &v1alpha1.Execution{}
	execution.Status.JobID, execution.Status.Phase = "job", v1alpha1.PhaseProgressing
	protocol.TryAgain(execution, own, time.Now())
	for name, tc := range map[string]struct {
		child protocol.JobObject
		stuck bool
	}{
		"an item of it is tried again":          {at("Progressing", Unfinished), true},
		"an Execution, whatever it tries again": {execution, true},
		"at work":                               {working, false},
		"with an error of its own":              {at("Progressing", own), false},
		"its children have not got the job":     {at("Init", Unfinished), false},
		"an uninstallation":                     {at("Deleting", Unfinished), false},
		"in deletion":                           {deleted, false},
		"its job has ended":                     {idle, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.stuck, IsStuck(tc.child)) })
	}
}

func TestJobFromParent(t *testing.T) {
	for name, c := range map[string]struct {
		inst, parent *v1alpha1.Installation
		want         string
	}{
		"a new one":                          {fixture.Nested("b", "a", "a"), fixture.WithJobs("b", "a"), "b"},
		"of a parent that has ended it":      {fixture.Nested("b", "a", "a"), fixture.WithJobs("b", "b"), "b"},
		"it runs already":                    {fixture.Nested("b", "b", "a"), fixture.WithJobs("b", "a"), ""},
		"it has ended":                       {fixture.Nested("b", "b", "b"), fixture.WithJobs("b", "a"), ""},
		"it ended before another":            {fixture.Nested("b", "c", "b"), fixture.WithJobs("b", "a"), ""},
		"of the past":                        {fixture.Nested("a", "b", "b"), fixture.WithJobs("b", "b"), ""},
		"of the past, before the parent's":   {fixture.Nested("a", "b", "b"), fixture.WithJobs("c", "b"), ""},
		"no annotation":                      {fixture.Nested("", "a", "a"), fixture.WithJobs("b", "a"), ""},
		"no annotation, and the parent idle": {fixture.Nested("", "a", "a"), fixture.WithJobs("", ""), ""},
		"the parent is gone":                 {fixture.Nested("b", "a", "a"), nil, ""},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, JobFromParent(c.inst, c.parent)) })
	}
}

func TestASubinstallationInDeletionEndsNoJobOfItsParent(t *testing.T) {
	const job = "b"
	for name, tc := range map[string]struct {
		child *v1alpha1.Installation
		want  bool
	}{
		"at the job":                           {fixture.WithJobs(job, "a"), false},
		"deleted while it was at the job":      {fixture.Leaving(fixture.WithJobs(job, "a")), true},
		"deleted, and its deletion is at work": {fixture.Leaving(fixture.WithJobs("c", "a")), true},
		"deleted after it had ended the job":   {fixture.Leaving(fixture.WithJobs("c", job)), false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, LeavesJob(tc.child, job)) })
	}
}

func TestPrepared(t *testing.T) {
	at := func(phase v1alpha1.Phase, subs, execution bool) *v1alpha1.Installation {
		inst := fixture.WithJobs("b", "a")
		inst.Status.Phase = phase
		if subs {
			inst.Status.SubInstCache = &v1alpha1.SubInstCache{}
		}
		if execution {
			inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Name: "x"}
		}
		return inst
	}
	noted := func(job string) *v1alpha1.Execution {
		execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{v1alpha1.JobAnnotation: job}}}
		return execution
	}
	taken := noted("a")
	taken.Status.JobID = "b"
	old := noted("b")
	old.Status.ObservedGeneration = old.Generation
	leaving := old.DeepCopy()
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	for name, c := range map[string]struct {
		inst      *v1alpha1.Installation
		execution *v1alpha1.Execution
		want      bool
	}{
		"just begun": {at(v1alpha1.PhaseInit, false, false), nil, false},
		"just begun, with children of an earlier":  {at(v1alpha1.PhaseInit, true, true), noted("a"), false},
		"sub-installations only":                   {at(v1alpha1.PhaseProgressing, true, false), nil, true},
		"sub-installations and an Execution":       {at(v1alpha1.PhaseProgressing, true, true), noted("b"), true},
		"sub-installations, the Execution is gone": {at(v1alpha1.PhaseProgressing, true, true), nil, false},
		"the Execution has the job":                {at(v1alpha1.PhaseProgressing, false, true), noted("b"), true},
		"the Execution has the job by its status":  {at(v1alpha1.PhaseProgressing, false, true), taken, true},
		"the Execution has it with no new spec":    {at(v1alpha1.PhaseProgressing, false, true), old, false},
		"so has one of several children":           {at(v1alpha1.PhaseProgressing, true, true), old, false},
		"the Execution is in deletion":             {at(v1alpha1.PhaseProgressing, false, true), leaving, true},
		"the Execution has an earlier job":         {at(v1alpha1.PhaseProgressing, false, true), noted("a"), false},
		"the Execution is not there yet, or gone":  {at(v1alpha1.PhaseProgressing, false, true), nil, false},
		"nothing to make":                          {at(v1alpha1.PhaseProgressing, false, false), nil, false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, Prepared(c.inst, c.execution, nil)) })
	}
}

func TestJobsThatDeletedChildrenEndFirst(t *testing.T) {
	const job, first = "b", " is being deleted and still has a job of its own, which has to end first"
	at := func(obj protocol.JobObject, name string, phase v1alpha1.Phase, id, finished string) {
		obj.SetName(name)
		obj.SetDeletionTimestamp(&metav1.Time{Time: time.Unix(1, 0)})
		obj.Job().Phase, obj.Job().JobID, obj.Job().JobIDFinished = phase, id, finished
	}
	execution := func(phase v1alpha1.Phase, id, finished string) *v1alpha1.Execution {
		execution := &v1alpha1.Execution{}
		at(execution, "root", phase, id, finished)
		return execution
	}
	child := func(phase v1alpha1.Phase, id, finished string, change ...func(*v1alpha1.Installation)) *v1alpha1.Installation {
		child := &v1alpha1.Installation{}
		at(child, "a", phase, id, finished)
		for _, c := range change {
			c(child)
		}
		return child
	}
	stays := func(inst *v1alpha1.Installation) { inst.DeletionTimestamp = nil }
	refused := func(inst *v1alpha1.Installation) {
		protocol.Progress(inst, meta.ProgressingWithRetryReason, "no rights")
	}
	for name, tc := range map[string]struct {
		execution *v1alpha1.Execution
		child     *v1alpha1.Installation
		want      string
	}{
		"a deletion by hand":          {child: child(v1alpha1.PhaseDeleting, "own", "a"), want: "sub-installation a" + first},
		"one that is tried again":     {child: child(v1alpha1.PhaseDeleting, "own", "a", refused), want: "sub-installation a" + first + ": no rights"},
		"the job before the deletion": {child: child(v1alpha1.PhaseProgressing, "own", "a"), want: "sub-installation a" + first + "; annotate it landscaper.gardener.cloud/operation=interrupt to end that at once"},
		"the Execution":               {execution: execution(v1alpha1.PhaseDeleting, "own", "a"), child: child(v1alpha1.PhaseDeleting, "own", "a"), want: "Execution root" + first},
		"the job of the parent":       {execution: execution(v1alpha1.PhaseDeleting, job, "a"), child: child(v1alpha1.PhaseDeleting, job, "a")},
		"it has ended":                {execution: execution(v1alpha1.PhaseDeleteFailed, "own", "own"), child: child(v1alpha1.PhaseDeleteFailed, "own", "own")},
		"it is not in deletion":       {child: child(v1alpha1.PhaseProgressing, "own", "a", stays)},
		"there are no children":       {},
	} {
		t.Run(name, func(t *testing.T) {
			children := map[string]*v1alpha1.Installation{}
			if tc.child != nil {
				children["a"] = tc.child
			}
			assert.Equal(t, tc.want, EndsFirst(job, tc.execution, children))
		})
	}
}

func TestPreparedWithSubinstallations(t *testing.T) {
	inst := fixture.WithJobs("b", "a")
	inst.Status.Phase = v1alpha1.PhaseProgressing
	inst.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{SpecName: "sub", ObjectName: "root-sub"}}}
	leaving := fixture.WithJobs("c", "c")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	noted := fixture.WithJobs("a", "a")
	noted.Annotations = map[string]string{v1alpha1.JobAnnotation: "b"}
	for name, c := range map[string]struct {
		child *v1alpha1.Installation
		want  bool
	}{
		"it is at the job":                           {fixture.WithJobs("b", "a"), true},
		"it has ended the job":                       {fixture.WithJobs("b", "b"), true},
		"it has ended the job and is at another":     {fixture.WithJobs("c", "b"), true},
		"the job came with its spec":                 {noted, true},
		"it has lost its status":                     {&v1alpha1.Installation{}, false},
		"somebody took the job from it":              {fixture.WithJobs("c", "a"), false},
		"it has ended what it got in place of a job": {fixture.WithJobs("c", "c"), false},
		"it is in deletion, which fails the job":     {leaving, true},
		"it is gone, which fails the job":            {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, Prepared(inst, nil, map[string]*v1alpha1.Installation{"root-sub": c.child}))
		})
	}
}

func TestE11JudgeExecution(t *testing.T) {
	with := func(running, finished string, phase v1alpha1.Phase, change ...func(*v1alpha1.Execution)) *v1alpha1.Execution {
		execution := &v1alpha1.Execution{}
		execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = running, finished, phase
		for _, c := range change {
			c(execution)
		}
		return execution
	}
	leaving := func(execution *v1alpha1.Execution) { execution.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	for name, c := range map[string]struct {
		execution     *v1alpha1.Execution
		waits, failed bool
	}{
		"none is needed":                 {},
		"succeeded":                      {execution: with("b", "b", v1alpha1.PhaseSucceeded)},
		"failed":                         {execution: with("b", "b", v1alpha1.PhaseFailed), failed: true},
		"at work":                        {execution: with("b", "a", v1alpha1.PhaseProgressing), waits: true},
		"not begun":                      {execution: with("a", "a", v1alpha1.PhaseSucceeded), waits: true},
		"succeeded, and being deleted":   {execution: with("b", "b", v1alpha1.PhaseSucceeded, leaving), waits: true},
		"its deletion is at work":        {execution: with("c", "b", v1alpha1.PhaseDeleting, leaving), waits: true},
		"its deletion has failed":        {execution: with("c", "c", v1alpha1.PhaseDeleteFailed, leaving), failed: true},
		"failed because of its deletion": {execution: with("b", "b", v1alpha1.PhaseFailed, leaving), failed: true},
	} {
		t.Run(name, func(t *testing.T) {
			err := JudgeExecution(c.execution, "b")
			var failure *protocol.Failure
			assert.Equal(t, c.waits, errors.Is(err, protocol.ErrStop))
			assert.Equal(t, c.failed, errors.As(err, &failure))
			assert.Equal(t, c.waits || c.failed, err != nil)
		})
	}
}

func TestCauseBelow(t *testing.T) {
	const job = "b"
	at := func(obj protocol.JobObject, job, cause string) {
		obj.Job().JobID, obj.Job().JobIDFinished = job, "a"
		protocol.ShowCause(obj, protocol.Cause{Reason: meta.ProgressingWithRetryReason, Message: cause}, "")
	}
	execution := func(job, cause string) *v1alpha1.Execution {
		execution := &v1alpha1.Execution{}
		at(execution, job, cause)
		return execution
	}
	child := func(job, cause string) *v1alpha1.Installation {
		child := &v1alpha1.Installation{}
		at(child, job, cause)
		return child
	}
	waits := func(reason, message string) *v1alpha1.Installation {
		child := child(job, "")
		protocol.Progress(child, reason, message)
		return child
	}
	type children = map[string]*v1alpha1.Installation
	for name, tc := range map[string]struct {
		execution *v1alpha1.Execution
		children  children
		want      string
	}{
		"no children":              {},
		"all at work":              {execution(job, ""), children{"x": child(job, "")}, ""},
		"a deploy item":            {execution(job, "boom"), nil, "boom"},
		"one of a child":           {execution(job, ""), children{"x": child(job, ""), "y": child(job, "boom")}, "y: boom"},
		"the own comes first":      {execution(job, "own"), children{"x": child(job, "boom")}, "own"},
		"of an earlier job":        {execution("a", "boom"), children{"x": child("a", "boom")}, ""},
		"a child that waits":       {execution(job, ""), children{"x": waits(protocol.ReasonWaiting, "for a Job")}, "x: for a Job"},
		"a retry before a wait":    {nil, children{"x": waits(protocol.ReasonWaiting, "for a Job"), "y": child(job, "boom")}, "y: boom"},
		"an agent before a wait":   {nil, children{"x": waits(protocol.ReasonWaiting, "for a Job"), "y": waits(protocol.ReasonAgentUnreachable, "gone")}, "y: gone"},
		"a child behind a sibling": {nil, children{"x": waits(ReasonPredecessorUnready, "for y"), "y": child(job, "")}, ""},
		"the first child by names": {nil, children{"y": child(job, "2"), "x": child(job, "1")}, "x: 1"},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, CauseBelow(job, tc.execution, tc.children).Message) })
	}
}
