// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"bytes"
	"compress/gzip"
	"errors"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// ending is a root at the end of the job "job", for the generation that it has.
func ending() *scope {
	return scopeOf(fixture.Ended())
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
		change  func(f *scope)
		follows bool
	}{
		"nothing changed":                {change: func(*scope) {}},
		"a newer spec":                   {change: func(f *scope) { f.inst.Generation++ }, follows: true},
		"a child kept another content":   {change: func(f *scope) { f.noteChange() }, follows: true},
		"a child's child did in the job": {change: func(f *scope) { f.children["a"] = changedChild("job") }, follows: true},
		"a child's child did before":     {change: func(f *scope) { f.children["a"] = changedChild("former") }},
		"interrupted by a person": {change: func(f *scope) {
			f.inst.Generation++
			f.inst.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationInterrupt}
		}},
		"in deletion":                      {change: func(f *scope) { f.inst.Generation++; now := metav1.Now(); f.inst.DeletionTimestamp = &now }},
		"suspended":                        {change: func(f *scope) { f.noteChange(); f.inst.Spec.Suspend = true }},
		"a sub-installation starts no job": {change: func(f *scope) { f.noteChange(); fixture.Nest(f.inst) }},
	} {
		t.Run(name, func(t *testing.T) {
			f := ending()
			tc.change(f)
			f.takeOverChange()
			job, message := jobs.NextJob(f.inst, fixture.WithJobs("job", "job"))
			assert.Equal(t, tc.follows, job != "")
			assert.Equal(t, tc.follows, message != "")
		})
	}
}

func TestSubinstallationsPassTheirChangeOn(t *testing.T) {
	f := ending()
	fixture.Nest(f.inst)
	f.children["a"] = changedChild("job")
	f.takeOverChange()
	assert.True(t, conditions.IsTrue(f.inst, jobs.ChangedDuringJobCondition))
}

func TestAJobOfTwoSpecsIsOutdated(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(f *scope)
		outdated bool
	}{
		"some children have the former spec":      {change: func(*scope) {}, outdated: true},
		"the spec is that of the job":             {change: func(f *scope) { f.inst.Generation-- }},
		"no child has the job":                    {change: func(f *scope) { f.children = nil }},
		"a sub-installation":                      {change: func(f *scope) { fixture.Nest(f.inst) }},
		"suspended, so that no other job follows": {change: func(f *scope) { f.inst.Spec.Suspend = true }},
	} {
		t.Run(name, func(t *testing.T) {
			f := ending()
			f.inst.Generation++
			f.inst.Status.JobIDFinished = "former"
			f.children["a"] = fixture.WithJobs("job", "job")
			tc.change(f)
			var failure *protocol.Failure
			assert.Equal(t, tc.outdated, errors.As((&Reconciler{}).findPrepared(t.Context(), f), &failure) && failure.Reason == jobs.ReasonAnotherJob)
		})
	}
}

func TestAChildThatHasTheJobKeepsItsSpec(t *testing.T) {
	f := ending()
	f.inst.Status.JobIDFinished = ""
	existing := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{v1alpha1.JobAnnotation: "job"}}}
	existing.Spec.Context = "former"
	wanted := existing.DeepCopy()

	k := &Reconciler{} // it has no client to write with
	require.NoError(t, k.updateChild(t.Context(), f, existing, wanted))
	assert.False(t, conditions.Has(f.inst, jobs.ChangedDuringJobCondition))

	wanted.Spec.Context = "newer"
	require.NoError(t, k.updateChild(t.Context(), f, existing, wanted))
	assert.Equal(t, "former", f.children["a"].Spec.Context)
	assert.True(t, conditions.IsTrue(f.inst, jobs.ChangedDuringJobCondition))
}

func TestAnExecutionThatHasTheJobKeepsItsSpec(t *testing.T) {
	f := ending()
	f.execution = &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Generation: 1, Annotations: map[string]string{v1alpha1.JobAnnotation: "job"}}}
	spec, err := storage.Pack("default", []v1alpha1.DeployItemTemplate{{Name: "item"}})
	require.NoError(t, err)
	require.NoError(t, (&Reconciler{}).updateExecution(t.Context(), f, spec))
	assert.Empty(t, f.execution.Spec)
	assert.True(t, conditions.IsTrue(f.inst, jobs.ChangedDuringJobCondition))
}

func TestT02AChildThatHasTheJobKeepsWhatWasRecorded(t *testing.T) {
	planned := func(filesystem string) []model.InstallationTemplate {
		return []model.InstallationTemplate{{
			Name: "sub", Blueprint: model.InstallationTemplateBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(filesystem))},
		}}
	}
	f := scopeOf(fixture.Node("parent", ""))
	f.inst.Status.JobID = "job"
	require.NoError(t, f.listChildren(planned(`{"blueprint.yaml":"x"}`), true))
	before := f.inst.Status.SubInstCache.ActiveSubs[0]
	sealed, err := inputs.InPlaceDigest([]byte(`{ "blueprint.yaml": "x" }`))
	require.NoError(t, err)
	require.Equal(t, sealed, before.BlueprintDigest)
	child := fixture.Node(before.ObjectName, "parent")
	child.Annotations = map[string]string{v1alpha1.JobAnnotation: "job"}
	f.children[child.Name] = child
	require.NoError(t, f.listChildren(planned(`{"blueprint.yaml":"y"}`), true))
	assert.Equal(t, before, f.inst.Status.SubInstCache.ActiveSubs[0])
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
			f := scopeOf(inst)
			require.NoError(t, with(t, execution).findExecution(t.Context(), f))
			assert.Equal(t, tc.foreign, f.foreign != nil)
			assert.Equal(t, tc.foreign, f.execution == nil)
		})
	}
}

// TestAParentSaysThatADeletedChildHasAJobOfItsOwn has a sub-installation that somebody deleted before the job of the parent began.
func TestAParentSaysThatADeletedChildHasAJobOfItsOwn(t *testing.T) {
	const want = "sub-installation a is being deleted and still has a job of its own, which has to end first: the target does not answer"
	family := func() *scope {
		f, child := scopeOf(fixture.Working("root", "1", "job")), fixture.Node("a", "root")
		child.DeletionTimestamp, child.Status.Phase = &metav1.Time{Time: time.Unix(1, 0)}, v1alpha1.PhaseDeleting
		child.Status.JobID, child.Status.JobIDFinished = "own", "former"
		protocol.Progress(child, meta.ProgressingWithRetryReason, "the target does not answer")
		f.children["a"] = child
		return f
	}
	t.Run("by a job", func(t *testing.T) {
		f := family()
		stored := f.children["a"].DeepCopy()
		stored.Finalizers = []string{v1alpha1.Finalizer}
		k := with(t, stored)
		require.NoError(t, k.Get(t.Context(), client.ObjectKeyFromObject(stored), f.children["a"]))
		failure := protocol.AsFailure(jobs.Operation, k.deleteOrphans(t.Context(), f, []*v1alpha1.Installation{f.children["a"]}))
		assert.Equal(t, protocol.Waiting, failure.Kind)
		assert.Equal(t, "waiting for sub-installation a to be deleted: "+want, failure.Err.Error())
	})
	t.Run("by a deletion", func(t *testing.T) {
		f := family()
		f.inst.DeletionTimestamp = &metav1.Time{Time: time.Unix(2, 0)}
		require.ErrorIs(t, (&Reconciler{}).awaitDeletedChildren(t.Context(), f), protocol.ErrStop)
		assert.Equal(t, want, conditions.GetMessage(f.inst, meta.ReadyCondition))

		f.children["a"].Status.JobID = "job"
		conditions.Delete(f.children["a"], meta.ReconcilingCondition)
		require.ErrorIs(t, (&Reconciler{}).awaitDeletedChildren(t.Context(), f), protocol.ErrStop)
		assert.Equal(t, deletingMessage, conditions.GetMessage(f.inst, meta.ReadyCondition))
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
			f, k := scopeOf(inst), with(t, execution)
			require.NoError(t, k.findExecution(t.Context(), f))
			f.Inputs, f.content = inputs.Inputs{Blueprint: &inputs.Blueprint{Document: &model.Blueprint{}}}, &content{deployItems: items}
			failure := protocol.AsFailure(jobs.Operation, k.applyExecution(t.Context(), f))
			assert.Equal(t, protocol.Waiting, failure.Kind)
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
			f := scopeOf(fixture.Working("root", "1", "job"))
			f.execution = &v1alpha1.Execution{Spec: tc.has}
			f.execution.Status.JobID = "job"
			require.NoError(t, (&Reconciler{}).updateExecution(t.Context(), f, wanted))
			assert.Equal(t, !tc.same, conditions.IsTrue(f.inst, jobs.ChangedDuringJobCondition))
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
			f := &scope{children: map[string]*v1alpha1.Installation{"child": child}}
			assert.Equal(t, tc.want, f.childrenRun())
		})
	}
}

func TestNothingIsDecidedOnChildrenThatTheCacheShowsTooOld(t *testing.T) {
	root := fixture.Working("root", "1", "job")
	root.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{ObjectName: "child"}}}
	child := fixture.Below(root, fixture.Working("child", "2", "job"))
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root", UID: "3"}}
	execution.OwnerReferences = child.OwnerReferences
	for name, tc := range map[string]struct {
		cached []client.Object
		wrote  func(*Reconciler)
		stops  bool
	}{
		"all as they are":     {[]client.Object{child, execution}, func(*Reconciler) {}, false},
		"an old child":        {[]client.Object{child, execution}, func(k *Reconciler) { k.installations.Wrote(fixture.Newer(child)) }, true},
		"a new child":         {[]client.Object{execution}, func(k *Reconciler) { k.installations.Created(fixture.Newer(child)) }, true},
		"a child that went":   {[]client.Object{execution}, func(*Reconciler) {}, false},
		"an old Execution":    {[]client.Object{child, execution}, func(k *Reconciler) { k.executions.Wrote(fixture.Newer(execution)) }, true},
		"a new Execution":     {[]client.Object{child}, func(k *Reconciler) { k.executions.Created(fixture.Newer(execution)) }, true},
		"no Execution at all": {[]client.Object{child}, func(*Reconciler) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			k := with(t, tc.cached...)
			tc.wrote(k)
			err := protocol.Through(t.Context(), scopeOf(root), []protocol.Step[*scope]{k.findExecution, k.findChildren})
			if !tc.stops {
				require.NoError(t, err)
				return
			}
			assert.ErrorIs(t, err, protocol.ErrStop)
		})
	}
}

// claim is a sub-installation that says which template it was made from.
func claim(name, template string, change ...func(*v1alpha1.Installation)) *v1alpha1.Installation {
	child := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(1000, 0)}}
	if template != "" {
		child.Annotations = map[string]string{v1alpha1.SubinstallationNameAnnotation: template}
	}
	for _, apply := range change {
		apply(child)
	}
	return child
}

func deleting(child *v1alpha1.Installation) {
	child.DeletionTimestamp = &metav1.Time{Time: time.Unix(2000, 0)}
}

func older(child *v1alpha1.Installation) { child.CreationTimestamp = metav1.Unix(500, 0) }

func TestE18SubinstallationsAreFoundByTheirAnnotation(t *testing.T) {
	deterministic := storage.ShortChildName("root", "a", validation.MaxInstallationNameLength)
	for name, tc := range map[string]struct {
		children []*v1alpha1.Installation
		listed   string
		want     string
		problem  string
	}{
		"none":                            {want: deterministic},
		"generated name":                  {children: []*v1alpha1.Installation{claim("a-x7f2k", "a")}, want: "a-x7f2k"},
		"our name":                        {children: []*v1alpha1.Installation{claim(deterministic, "a")}, want: deterministic},
		"our name, annotation taken away": {children: []*v1alpha1.Installation{claim(deterministic, "")}, want: deterministic},
		"of another template":             {children: []*v1alpha1.Installation{claim("a-x7f2k", "b")}, want: deterministic},
		"dangling":                        {children: []*v1alpha1.Installation{claim("a-x7f2k", "")}, problem: "a-x7f2k belongs to this one but has no annotation"},
		"the one that stays":              {children: []*v1alpha1.Installation{claim("a-1", "a", deleting, older), claim("a-2", "a")}, listed: "a-1", want: "a-2"},
		"the listed one":                  {children: []*v1alpha1.Installation{claim("a-1", "a", older), claim("a-2", "a")}, listed: "a-2", want: "a-2"},
		"the oldest":                      {children: []*v1alpha1.Installation{claim("a-1", "a"), claim("a-2", "a", older)}, want: "a-2"},
	} {
		t.Run(name, func(t *testing.T) {
			f := scopeOf(&v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root"}})
			if tc.listed != "" {
				f.inst.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{SpecName: "a", ObjectName: tc.listed}}}
			}
			for _, child := range tc.children {
				f.children[child.Name] = child
			}
			pairs, err := f.pairs([]model.InstallationTemplate{{Name: "a"}})
			if tc.problem != "" {
				require.ErrorContains(t, err, tc.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, []v1alpha1.SubNamePair{{SpecName: "a", ObjectName: tc.want}}, pairs)
		})
	}
}

func TestE13SubinstallationsOfAFormerInstallationAreNone(t *testing.T) {
	inst, former := fixture.Working("root", "new", "job"), fixture.Working("root", "former", "job")
	f := scopeOf(inst)
	k := with(t, fixture.Below(inst, claim("own", "a")), fixture.Below(former, claim("left", "b")))
	require.NoError(t, k.findChildren(t.Context(), f))
	assert.Equal(t, []string{"own"}, slices.Sorted(maps.Keys(f.children)))
}

func TestE13ANameThatIsTaken(t *testing.T) {
	inst, former := fixture.Working("root", "new", "job"), fixture.Working("root", "former", "job")
	for name, tc := range map[string]struct {
		exists *v1alpha1.Installation
		kind   protocol.FailureKind
		reason string
	}{
		"by one of a former Installation": {fixture.Below(former, claim("a", "a")), protocol.Waiting, "SubinstallationDeleting"},
		"by one of a person":              {claim("a", "a"), protocol.Stalled, "InstallationExists"},
		"by one of another parent":        {fixture.Below(fixture.Working("other", "2", ""), claim("a", "a")), protocol.Stalled, "InstallationExists"},
		"by an own one in deletion":       {fixture.Below(inst, claim("a", "a", deleting)), protocol.Retry, "SubinstallationDeleting"},
	} {
		t.Run(name, func(t *testing.T) {
			err := with(t).meetExisting(t.Context(), scopeOf(inst), tc.exists, claim("a", "a"))
			failure := protocol.AsFailure(jobs.Operation, err)
			assert.Equal(t, tc.kind, failure.Kind)
			assert.Equal(t, tc.reason, failure.Reason)
		})
	}
}

// TestManySubinstallationsAreSortedOnce counts what is allocated: each sort of its own makes a list of all names.
func TestManySubinstallationsAreSortedOnce(t *testing.T) {
	const many = 200
	f := scopeOf(&v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root"}})
	var templates []model.InstallationTemplate
	for i := range many {
		name := "t" + strconv.Itoa(i)
		templates = append(templates, model.InstallationTemplate{Name: name})
		f.children["sub-"+name] = claim("sub-"+name, name)
	}
	pairs, err := f.pairs(templates)
	require.NoError(t, err)
	assert.Equal(t, v1alpha1.SubNamePair{SpecName: "t7", ObjectName: "sub-t7"}, pairs[7])
	assert.Less(t, testing.AllocsPerRun(1, func() { _, _ = f.pairs(templates) }), 6.0*many)
}

// scopeOf is the scope of an Installation of which no children are known.
func scopeOf(inst *v1alpha1.Installation) *scope {
	return &scope{inst: inst, children: map[string]*v1alpha1.Installation{}}
}
