// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// ending is a root at the end of the job "job", for the generation that it has.
func ending() *Family {
	return familyOf(fixture.Ended())
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
		change  func(f *Family)
		follows bool
	}{
		"nothing changed":                {change: func(*Family) {}},
		"a newer spec":                   {change: func(f *Family) { f.Inst.Generation++ }, follows: true},
		"a child kept another content":   {change: func(f *Family) { f.NoteChange() }, follows: true},
		"a child's child did in the job": {change: func(f *Family) { f.Children["a"] = changedChild("job") }, follows: true},
		"a child's child did before":     {change: func(f *Family) { f.Children["a"] = changedChild("former") }},
		"interrupted by a person": {change: func(f *Family) {
			f.Inst.Generation++
			f.Inst.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationInterrupt}
		}},
		"in deletion":                      {change: func(f *Family) { f.Inst.Generation++; now := metav1.Now(); f.Inst.DeletionTimestamp = &now }},
		"suspended":                        {change: func(f *Family) { f.NoteChange(); f.Inst.Spec.Suspend = true }},
		"a sub-installation starts no job": {change: func(f *Family) { f.NoteChange(); fixture.Nest(f.Inst) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := ending()
			tc.change(f)
			f.TakeOverChange()
			job, message := jobs.NextJob(f.Inst, fixture.WithJobs("job", "job"))
			assert.Equal(t, tc.follows, job != "")
			assert.Equal(t, tc.follows, message != "")
		})
	}
}

func TestSubinstallationsPassTheirChangeOn(t *testing.T) {
	f := ending()
	fixture.Nest(f.Inst)
	f.Children["a"] = changedChild("job")
	f.TakeOverChange()
	assert.True(t, conditions.IsTrue(f.Inst, jobs.ChangedDuringJobCondition))
}

func TestAJobOfTwoSpecsIsOutdated(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(f *Family)
		outdated bool
	}{
		"some children have the former spec":      {change: func(*Family) {}, outdated: true},
		"the spec is that of the job":             {change: func(f *Family) { f.Inst.Generation-- }},
		"no child has the job":                    {change: func(f *Family) { f.Children = nil }},
		"a sub-installation":                      {change: func(f *Family) { fixture.Nest(f.Inst) }},
		"suspended, so that no other job follows": {change: func(f *Family) { f.Inst.Spec.Suspend = true }},
	} {
		t.Run(name, func(t *testing.T) {
			f := ending()
			f.Inst.Generation++
			f.Inst.Status.JobIDFinished = "former"
			f.Children["a"] = fixture.WithJobs("job", "job")
			tc.change(f)
			assert.Equal(t, tc.outdated, f.IsOutdated())
		})
	}
}

func TestAChildThatHasTheJobKeepsItsSpec(t *testing.T) {
	f := ending()
	f.Inst.Status.JobIDFinished = ""
	existing := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{v1alpha1.JobAnnotation: "job"}}}
	existing.Spec.Context = "former"
	wanted := existing.DeepCopy()

	k := &Keeper{} // it has no client to write with
	require.NoError(t, k.updateChild(t.Context(), f, existing, wanted))
	assert.False(t, conditions.Has(f.Inst, jobs.ChangedDuringJobCondition))

	wanted.Spec.Context = "newer"
	require.NoError(t, k.updateChild(t.Context(), f, existing, wanted))
	assert.Equal(t, "former", f.Children["a"].Spec.Context)
	assert.True(t, conditions.IsTrue(f.Inst, jobs.ChangedDuringJobCondition))
}

func TestAnExecutionThatHasTheJobKeepsItsSpec(t *testing.T) {
	f := ending()
	f.Execution = &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{v1alpha1.JobAnnotation: "job"}}}
	spec, err := packing.Pack("default", []v1alpha1.DeployItemTemplate{{Name: "item"}})
	require.NoError(t, err)
	require.NoError(t, (&Keeper{}).updateExecution(t.Context(), f, spec))
	assert.Empty(t, f.Execution.Spec)
	assert.True(t, conditions.IsTrue(f.Inst, jobs.ChangedDuringJobCondition))
}

func TestT02AChildThatHasTheJobKeepsWhatWasRecorded(t *testing.T) {
	planned := func(filesystem string) []model.InstallationTemplate {
		return []model.InstallationTemplate{{
			Name: "sub", Blueprint: model.InstallationTemplateBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(filesystem))},
		}}
	}
	f := familyOf(fixture.Node("parent", ""))
	f.Inst.Status.JobID = "job"
	require.NoError(t, f.List(planned(`{"blueprint.yaml":"x"}`), true))
	before := f.Inst.Status.SubInstCache.ActiveSubs[0]
	sealed, err := inputs.InPlaceDigest([]byte(`{ "blueprint.yaml": "x" }`))
	require.NoError(t, err)
	require.Equal(t, sealed, before.BlueprintDigest)
	child := fixture.Node(before.ObjectName, "parent")
	child.Annotations = map[string]string{v1alpha1.JobAnnotation: "job"}
	f.Children[child.Name] = child
	require.NoError(t, f.List(planned(`{"blueprint.yaml":"y"}`), true))
	assert.Equal(t, before, f.Inst.Status.SubInstCache.ActiveSubs[0])
}

func TestAnExecutionOfSomebodyElseIsNotTaken(t *testing.T) {
	inst := fixture.Working("root", "1", "job")
	for name, tc := range map[string]struct {
		owner   *v1alpha1.Installation
		foreign bool
	}{
		"own":                                   {inst, false},
		"of an earlier one of that name":        {fixture.Working("root", "0", "job"), true},
		"of somebody who says nothing about it": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root"}}
			if tc.owner != nil {
				execution.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(tc.owner, v1alpha1.GroupVersion.WithKind("Installation"))}
			}
			f := familyOf(inst)
			require.NoError(t, keeper(t, execution).FindExecution(t.Context(), f))
			assert.Equal(t, tc.foreign, f.Foreign != nil)
			assert.Equal(t, tc.foreign, f.Execution == nil)
		})
	}
}

// TestAParentSaysThatADeletedChildHasAJobOfItsOwn has a sub-installation that somebody deleted before the job of the parent began.
func TestAParentSaysThatADeletedChildHasAJobOfItsOwn(t *testing.T) {
	const want = "sub-installation a is being deleted and still has a job of its own, which has to end first: the target does not answer"
	family := func() *Family {
		f, child := familyOf(fixture.Working("root", "1", "job")), fixture.Node("a", "root")
		child.DeletionTimestamp, child.Status.Phase = &metav1.Time{Time: time.Unix(1, 0)}, v1alpha1.PhaseDeleting
		child.Status.JobID, child.Status.JobIDFinished = "own", "former"
		kit.Progress(child, meta.ProgressingWithRetryReason, "the target does not answer")
		f.Children["a"] = child
		return f
	}
	t.Run("by a job", func(t *testing.T) {
		f := family()
		stored := f.Children["a"].DeepCopy()
		stored.Finalizers = []string{v1alpha1.Finalizer}
		k := keeper(t, stored)
		require.NoError(t, k.Get(t.Context(), client.ObjectKeyFromObject(stored), f.Children["a"]))
		failure := kit.AsFailure(jobs.Operation, k.deleteOrphans(t.Context(), f, []*v1alpha1.Installation{f.Children["a"]}))
		assert.Equal(t, kit.Waiting, failure.Kind)
		assert.Equal(t, "waiting for sub-installation a to be deleted: "+want, failure.Err.Error())
	})
	t.Run("by a deletion", func(t *testing.T) {
		f := family()
		f.Inst.DeletionTimestamp = &metav1.Time{Time: time.Unix(2, 0)}
		require.ErrorIs(t, (&Keeper{}).AwaitDeletedChildren(t.Context(), f), kit.ErrStop)
		assert.Equal(t, want, conditions.GetMessage(f.Inst, meta.ReadyCondition))

		f.Children["a"].Status.JobID = "job"
		conditions.Delete(f.Children["a"], meta.ReconcilingCondition)
		require.ErrorIs(t, (&Keeper{}).AwaitDeletedChildren(t.Context(), f), kit.ErrStop)
		assert.Equal(t, deletingMessage, conditions.GetMessage(f.Inst, meta.ReadyCondition))
	})
}

func TestANewExecutionWaitsForThatOfAFormerInstallation(t *testing.T) {
	inst, former := fixture.Working("root", "new", "job"), fixture.Working("root", "former", "job")
	items := []v1alpha1.DeployItemTemplate{{Name: "a"}}
	for name, tc := range map[string]struct {
		status  v1alpha1.JobStatus
		message string
	}{
		"that works": {
			v1alpha1.JobStatus{Phase: v1alpha1.PhaseDeleting, JobID: "1"},
			"waiting for Execution root of a former Installation with the same name to be deleted"},
		"whose deletion failed": {
			v1alpha1.JobStatus{
				Phase: v1alpha1.PhaseDeleteFailed, JobID: "1", JobIDFinished: "1", LastError: &v1alpha1.Error{Message: "no rights"},
			},
			"Execution root of a former Installation with the same name could not be deleted: no rights; remove the cause and annotate it " +
				"landscaper.gardener.cloud/operation=reconcile",
		},
	} {
		t.Run(name, func(t *testing.T) {
			execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root"}, Status: v1alpha1.ExecutionStatus{JobStatus: tc.status}}
			execution.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(former, v1alpha1.GroupVersion.WithKind("Installation"))}
			f, k := familyOf(inst), keeper(t, execution)
			require.NoError(t, k.FindExecution(t.Context(), f))
			p := &plan.Plan{
				Inst: inst, Inputs: inputs.Inputs{Blueprint: &inputs.Blueprint{Document: &model.Blueprint{}}}, Content: &plan.Content{DeployItems: items},
			}
			failure := kit.AsFailure(jobs.Operation, k.ApplyExecution(t.Context(), p, f))
			assert.Equal(t, kit.Waiting, failure.Kind)
			assert.Equal(t, tc.message, failure.Err.Error())
		})
	}
}

func TestE18CompressedDeployItemsAreTheSame(t *testing.T) {
	packed := func(raw string) []byte {
		var buffer bytes.Buffer
		writer := gzip.NewWriter(&buffer)
		_, err := writer.Write([]byte(raw))
		require.NoError(t, err)
		require.NoError(t, writer.Close())
		return buffer.Bytes()
	}
	wanted := v1alpha1.ExecutionSpec{Context: "default", DeployItems: []v1alpha1.DeployItemTemplate{{Name: "item", Type: "mock"}}}
	for name, tc := range map[string]struct {
		has  v1alpha1.ExecutionSpec
		same bool
	}{
		"readable":      {wanted, true},
		"compressed":    {v1alpha1.ExecutionSpec{Context: "default", DeployItemsCompressed: packed(`[{"type":"mock","name":"item"}]`)}, true},
		"another item":  {v1alpha1.ExecutionSpec{Context: "default", DeployItemsCompressed: packed(`[{"type":"mock","name":"other"}]`)}, false},
		"other context": {v1alpha1.ExecutionSpec{Context: "team", DeployItemsCompressed: packed(`[{"type":"mock","name":"item"}]`)}, false},
		"no gzip":       {v1alpha1.ExecutionSpec{Context: "default", DeployItemsCompressed: []byte("x")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := familyOf(fixture.Working("root", "1", "job"))
			f.Execution = &v1alpha1.Execution{Spec: tc.has}
			f.Execution.Status.JobID = "job"
			require.NoError(t, (&Keeper{}).updateExecution(t.Context(), f, wanted))
			assert.Equal(t, !tc.same, conditions.IsTrue(f.Inst, jobs.ChangedDuringJobCondition))
		})
	}
}

func TestDeletionsOfSubinstallationsAreNoWorkOfTheirParent(t *testing.T) {
	for name, tc := range map[string]struct {
		running, finished string
		phase             v1alpha1.Phase
		want              bool
	}{
		"idle":                       {"a", "a", v1alpha1.PhaseSucceeded, false},
		"at a job":                   {"b", "a", v1alpha1.PhaseProgressing, true},
		"about to begin one":         {"b", "a", v1alpha1.PhaseSucceeded, true},
		"its deletion waits":         {"b", "a", v1alpha1.PhaseDeleting, false},
		"its deletion has failed":    {"b", "b", v1alpha1.PhaseDeleteFailed, false},
		"another attempt to delete":  {"c", "b", v1alpha1.PhaseDeleteFailed, false},
		"deleted, but still at work": {"b", "a", v1alpha1.PhaseInit, true},
	} {
		t.Run(name, func(t *testing.T) {
			child := fixture.WithJobs(tc.running, tc.finished)
			child.Status.Phase = tc.phase
			f := &Family{Children: map[string]*v1alpha1.Installation{"child": child}}
			assert.Equal(t, tc.want, f.Run())
		})
	}
}
