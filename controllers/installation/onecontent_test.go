// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// dataObject is a managed object with a name and a content.
func dataObject(name, content string) client.Object {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}

func TestSameContents(t *testing.T) {
	one, other := dataObject("a", "1"), dataObject("b", "1")
	for name, tc := range map[string]struct {
		has, wanted []client.Object
		same        bool
	}{
		"nothing":       {same: true},
		"another order": {has: []client.Object{one, other}, wanted: []client.Object{other, one}, same: true},
		"other content": {has: []client.Object{one}, wanted: []client.Object{dataObject("a", "2")}},
		"another name":  {has: []client.Object{one}, wanted: []client.Object{other}},
		"one more":      {has: []client.Object{one}, wanted: []client.Object{one, other}},
		"one less":      {has: []client.Object{one, other}, wanted: []client.Object{one}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.same, sameContents(tc.has, tc.wanted)) })
	}
}

// ending is a root at the end of the job "job", for the generation that it has.
func ending() *scope {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root", Generation: 2}}
	inst.Status.ObservedGeneration = 2
	inst.Status.JobID, inst.Status.JobIDFinished = "job", "job"
	return &scope{inst: inst, outcome: &outcome{}, children: map[string]*v1alpha1.Installation{}}
}

// changedChild is a sub-installation that noted a change during a job.
func changedChild(job string) *v1alpha1.Installation {
	child := &v1alpha1.Installation{}
	child.Status.JobID = job
	conditions.MarkTrue(child, jobs.ChangedDuringJobCondition, jobs.ReasonAnotherJob, "%s", jobs.ChangedMessage)
	return child
}

func TestAnotherJobFollows(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(s *scope)
		follows bool
	}{
		"nothing changed":                {change: func(*scope) {}},
		"a newer spec":                   {change: func(s *scope) { s.inst.Generation++ }, follows: true},
		"a child kept another content":   {change: func(s *scope) { s.noteChange() }, follows: true},
		"a child's child did in the job": {change: func(s *scope) { s.children["a"] = changedChild("job") }, follows: true},
		"a child's child did before":     {change: func(s *scope) { s.children["a"] = changedChild("former") }},
		"interrupted by a person": {change: func(s *scope) {
			s.inst.Generation++
			s.inst.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationInterrupt}
		}},
		"in deletion":                      {change: func(s *scope) { s.inst.Generation++; now := metav1.Now(); s.inst.DeletionTimestamp = &now }},
		"suspended":                        {change: func(s *scope) { s.noteChange(); s.inst.Spec.Suspend = true }},
		"a sub-installation starts no job": {change: func(s *scope) { s.noteChange(); fixture.Nest(s.inst) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := ending()
			tc.change(s)
			s.takeOverChange()
			job, message := jobs.NextJob(s.inst, withJobs("job", "job"))
			assert.Equal(t, tc.follows, job != "")
			assert.Equal(t, tc.follows, message != "")
		})
	}
}

func TestNoJobFollowsWhileOneRuns(t *testing.T) {
	s := ending()
	s.noteChange()
	s.outcome = nil
	require.NoError(t, (&Reconciler{}).queueNext(t.Context(), s))
	assert.Equal(t, "job", s.inst.Status.JobID)
}

func TestE24TheNextJobOfTheParentFollowsAtOnce(t *testing.T) {
	job, message := jobs.NextJob(fixture.Nested("next", "job", "job"), withJobs("next", "job"))
	assert.Equal(t, "next", job)
	assert.NotEmpty(t, message)
}

func TestSubinstallationsPassTheirChangeOn(t *testing.T) {
	s := ending()
	fixture.Nest(s.inst)
	s.children["a"] = changedChild("job")
	s.takeOverChange()
	assert.True(t, conditions.IsTrue(s.inst, jobs.ChangedDuringJobCondition))
}

func TestAJobOfTwoSpecsIsOutdated(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(s *scope)
		outdated bool
	}{
		"some children have the former spec":      {change: func(*scope) {}, outdated: true},
		"the spec is that of the job":             {change: func(s *scope) { s.inst.Generation-- }},
		"no child has the job":                    {change: func(s *scope) { s.children = nil }},
		"a sub-installation":                      {change: func(s *scope) { fixture.Nest(s.inst) }},
		"suspended, so that no other job follows": {change: func(s *scope) { s.inst.Spec.Suspend = true }},
	} {
		t.Run(name, func(t *testing.T) {
			s := ending()
			s.inst.Generation++
			s.inst.Status.JobIDFinished = "former"
			s.children["a"] = withJobs("job", "job")
			tc.change(s)
			assert.Equal(t, tc.outdated, s.isOutdated())
		})
	}
}

func TestAChildThatHasTheJobKeepsItsSpec(t *testing.T) {
	s := ending()
	s.inst.Status.JobIDFinished = ""
	existing := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{v1alpha1.JobAnnotation: "job"}}}
	existing.Spec.Context = "former"
	wanted := existing.DeepCopy()

	r := &Reconciler{} // it has no client to write with
	require.NoError(t, r.updateChild(t.Context(), s, existing, wanted))
	assert.False(t, conditions.Has(s.inst, jobs.ChangedDuringJobCondition))

	wanted.Spec.Context = "newer"
	require.NoError(t, r.updateChild(t.Context(), s, existing, wanted))
	assert.Equal(t, "former", s.children["a"].Spec.Context)
	assert.True(t, conditions.IsTrue(s.inst, jobs.ChangedDuringJobCondition))
}

func TestAnExecutionThatHasTheJobKeepsItsSpec(t *testing.T) {
	s := ending()
	s.execution = &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{v1alpha1.JobAnnotation: "job"}}}
	spec, err := packing.Pack("default", []v1alpha1.DeployItemTemplate{{Name: "item"}})
	require.NoError(t, err)
	require.NoError(t, (&Reconciler{}).updateExecution(t.Context(), s, spec))
	assert.Empty(t, s.execution.Spec)
	assert.True(t, conditions.IsTrue(s.inst, jobs.ChangedDuringJobCondition))
}

func TestAJobStartsWithoutTheChangesOfTheFormer(t *testing.T) {
	s := ending()
	s.noteChange()
	s.start("next", "test")
	assert.False(t, conditions.Has(s.inst, jobs.ChangedDuringJobCondition))
}

// TestAnErrorOfItsOwnHoldsAJobUp is about what an interruption ends at once: nobody below can, when the children have ended the job.
func TestAnErrorOfItsOwnHoldsAJobUp(t *testing.T) {
	own := &v1alpha1.Error{Operation: "ConstructExports", Reason: "Forbidden"}
	below := &v1alpha1.Error{Operation: jobs.Unfinished.Operation, Reason: jobs.Unfinished.Reason}
	for name, c := range map[string]struct {
		last *v1alpha1.Error
		runs bool
		want bool
	}{
		"its own error":                      {last: own, want: true},
		"its own error beside running items": {last: own, runs: true},
		"items at work":                      {last: below, runs: true},
		"items have just ended":              {last: below},
		"no error":                           {},
	} {
		execution := &v1alpha1.Execution{}
		execution.Status.JobID, execution.Status.JobIDFinished = "a", "a"
		if c.runs {
			execution.Status.JobIDFinished = ""
		}
		inst := &v1alpha1.Installation{}
		inst.Status.LastError = c.last
		assert.Equal(t, c.want, (&scope{inst: inst, execution: execution}).isHeldUp(), name)
	}
}
