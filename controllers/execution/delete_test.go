// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

func keyOf(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }

// deployed is an Execution that has succeeded with three items, each after the one before.
func deployed(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, template("a", "t"), template("b", "t", "a"), template("c", "t", "b"))
	b.start("1")
	for _, name := range []string{"a", "b", "c"} {
		b.end(name, v1alpha1.PhaseSucceeded)
		b.settle()
	}
	b.requirePhase(v1alpha1.PhaseSucceeded)
	return b
}

func TestItemsAreUninstalledInReverseOrder(t *testing.T) {
	b := deployed(t)
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	b.settle()
	job := b.execution().Status.JobID
	require.NotEqual(t, "1", job)
	for i, name := range []string{"c", "b", "a"} {
		require.Equal(t, job, b.item(name).Status.JobID, name)
		for _, other := range []string{"c", "b", "a"}[i+1:] {
			require.Equal(t, "1", b.item(other).Status.JobID, "%s before %s", name, other)
		}
		b.requireSteady()
		b.letGo(name)
		b.settle()
	}
	err := b.api.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "one"}, &v1alpha1.Execution{})
	assert.True(t, apierrors.IsNotFound(err))
}

// deletedBelow makes an Installation in deletion with a UID, and deletes the Execution, whose owner has the UID "parent".
func (b *bench) deletedBelow(t *testing.T, uid types.UID) *v1alpha1.Installation {
	t.Helper()
	parent := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one", UID: uid}}
	parent.Status.Phase, parent.Status.JobID = v1alpha1.PhaseDeleting, "2"
	require.NoError(t, b.api.Create(t.Context(), parent))
	execution := b.execution()
	execution.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: "one", UID: "parent", Controller: new(true),
	}}
	require.NoError(t, b.api.Update(t.Context(), execution))
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	b.settle()
	return parent
}

func TestFailedUninstallEndsTheDeletionUntilTheInstallationAsks(t *testing.T) {
	b := deployed(t)
	parent := b.deletedBelow(t, "parent")
	require.Equal(t, "2", b.item("c").Status.JobID, "the job of the Installation")
	b.end("c", v1alpha1.PhaseDeleteFailed)
	b.settle()
	b.requirePhase(v1alpha1.PhaseDeleteFailed)
	b.requireSteady()

	parent.Status.JobID = "3"
	require.NoError(t, b.api.Status().Update(t.Context(), parent))
	b.settle()
	require.Equal(t, "3", b.item("c").Status.JobID)
}

// TestAFailedDeletionWithoutInstallationIsTriedAgainOnRequest has an Installation that went without its Execution, because a person removed its
// finalizer.
func TestAFailedDeletionWithoutInstallationIsTriedAgainOnRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		isGone bool
		again  bool
	}{
		"the Installation is gone":      {true, true},
		"the Installation decides this": {false, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := deployed(t)
			parent := b.deletedBelow(t, "parent")
			b.end("c", v1alpha1.PhaseDeleteFailed)
			b.settle()
			failed := b.requirePhase(v1alpha1.PhaseDeleteFailed).Status.JobID
			if tc.isGone {
				require.NoError(t, b.api.Delete(t.Context(), parent))
			}
			b.requireSteady()

			b.operate(v1alpha1.OperationReconcile)
			b.settle()
			assert.Empty(t, b.execution().Annotations[v1alpha1.OperationAnnotation])
			assert.Equal(t, tc.again, failed != b.execution().Status.JobID)
			assert.Equal(t, b.execution().Status.JobID, b.item("c").Status.JobID)
			b.requireSteady()
		})
	}
}

// TestARequestedDeletionRunsOnceAndNeverLooksFinishedBefore lets the process die between the begin of the job and the removal of the request.
func TestARequestedDeletionRunsOnceAndNeverLooksFinishedBefore(t *testing.T) {
	b := deployed(t)
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	b.settle()
	b.end("c", v1alpha1.PhaseDeleteFailed)
	b.settle()
	failed := b.requirePhase(v1alpha1.PhaseDeleteFailed).Status.JobID
	b.operate(v1alpha1.OperationReconcile)
	b.after = func() {
		execution := b.execution()
		require.False(t, execution.Annotations[v1alpha1.OperationAnnotation] == "" && execution.Status.IsIdle(), "the result of another job")
	}
	b.dieBefore(func(verb string, obj client.Object) bool { return verb == "patch" && obj.GetName() == "one" })
	b.settle()
	job := b.execution().Status.JobID
	require.NotEqual(t, failed, job)
	b.restart()
	b.settle()
	b.after = nil
	b.end("c", v1alpha1.PhaseDeleteFailed)
	b.settle()
	assert.Equal(t, job, b.requirePhase(v1alpha1.PhaseDeleteFailed).Status.JobIDFinished)
}

// TestAnInterruptDuringTheFirstDeletionIsNotLost has a cache that shows the deletion of the Installation later than that of its Execution.
func TestAnInterruptDuringTheFirstDeletionIsNotLost(t *testing.T) {
	b := deployed(t)
	key := client.ObjectKey{Namespace: namespace, Name: "one"}
	b.cached[key] = &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one", UID: "parent"}}
	b.deletedBelow(t, "parent")
	b.operate(v1alpha1.OperationInterrupt)
	b.settle()
	delete(b.cached, key)
	b.settle()
	assert.Equal(t, "2", b.requirePhase(v1alpha1.PhaseDeleteFailed).Status.JobIDFinished)
}

func TestDeletionFollowsNoInstallationOfThatNameThatIsNotItsOwner(t *testing.T) {
	b := deployed(t)
	b.deletedBelow(t, "made later")
	assert.NotEqual(t, "2", b.execution().Status.JobID)
}

func TestDeletionWaitsForTheRunningJob(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t", "a"))
	b.start("1")
	b.pickUp("a")
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	b.settle()
	require.Equal(t, "1", b.execution().Status.JobID)
	require.True(t, b.item("a").DeletionTimestamp.IsZero())
	b.requireSteady()
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	assert.NotEqual(t, "1", b.execution().Status.JobID)
	assert.Nil(t, b.item("b"), "no deployer has begun it")
	assert.Equal(t, b.execution().Status.JobID, b.item("a").Status.JobID)
}

func TestInterruptEndsADeletion(t *testing.T) {
	b := deployed(t)
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	b.settle()
	b.operate(v1alpha1.OperationInterrupt)
	b.settle()
	failed := b.requirePhase(v1alpha1.PhaseDeleteFailed)
	assert.Empty(t, failed.Annotations[v1alpha1.OperationAnnotation])
	b.requireSteady()
}

// TestAnInterruptOfARetriedDeletionIsNotTakenForThatOfTheLast has an Execution whose deletion was interrupted, and whose next one is interrupted before
// it has begun.
func TestAnInterruptOfARetriedDeletionIsNotTakenForThatOfTheLast(t *testing.T) {
	b := deployed(t)
	parent := b.deletedBelow(t, "parent")
	for _, job := range []string{"2", "3"} {
		parent.Status.JobID = job
		require.NoError(t, b.api.Status().Update(t.Context(), parent))
		b.operate(v1alpha1.OperationInterrupt)
		b.settle()
		failed := b.requirePhase(v1alpha1.PhaseDeleteFailed)
		assert.Equal(t, job, failed.Status.JobIDFinished)
		assert.Empty(t, failed.Annotations[v1alpha1.OperationAnnotation])
		b.requireSteady()
	}
}

func TestDeletable(t *testing.T) {
	now := metav1.Now()
	item := func(name, after string, deleted bool) *v1alpha1.DeployItem {
		item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{v1alpha1.ExecutionManagedNameLabel: name},
			Annotations: map[string]string{v1alpha1.DependsOnAnnotation: after},
		}}
		if deleted {
			item.DeletionTimestamp = &now
		}
		return item
	}
	unlabelled := func(template, after string) *v1alpha1.DeployItem {
		stripped := item(storage.ChildName("one", template), after, true)
		stripped.Labels = nil
		owner := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "one"}}
		stripped.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("Execution"))}
		return stripped
	}
	nameOf := func(template string) string { return storage.ChildName("one", template) }
	for name, c := range map[string]struct {
		items []*v1alpha1.DeployItem
		want  []string
	}{
		"all are marked first":                   {[]*v1alpha1.DeployItem{item("a", "", false), item("b", "a", false)}, []string{"a", "b"}},
		"the last first":                         {[]*v1alpha1.DeployItem{item("a", "", true), item("b", "a", true)}, []string{"b"}},
		"one of two dependents":                  {[]*v1alpha1.DeployItem{item("a", "", true), item("c", "x,a", true)}, []string{"c"}},
		"a circle does not block":                {[]*v1alpha1.DeployItem{item("a", "b", true), item("b", "a", true)}, []string{"a", "b"}},
		"nothing left":                           {nil, nil},
		"without labels the last first":          {[]*v1alpha1.DeployItem{unlabelled("a", ""), unlabelled("b", "a")}, []string{nameOf("b")}},
		"without labels beside others":           {[]*v1alpha1.DeployItem{unlabelled("a", ""), item("b", "a", true), item("c", "", true)}, []string{"b", "c"}},
		"without labels nobody waits for nobody": {[]*v1alpha1.DeployItem{unlabelled("a", ""), item("b", "", true), item("c", "b", true)}, []string{nameOf("a"), "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, next := range deletable(c.items) {
				names = append(names, next.Name)
			}
			assert.Equal(t, c.want, names)
		})
	}
}

func TestADeletionWithoutInstallationWaitsForTheJobOfWhoeverMadeTheExecution(t *testing.T) {
	for name, tc := range map[string]struct {
		given string
		after time.Duration
		job   string
	}{
		"at first":            {after: time.Second / 2},
		"with a job by then":  {given: "theirs", after: time.Second / 2, job: "theirs"},
		"when it is too late": {after: ownerTime, job: "own"},
	} {
		t.Run(name, func(t *testing.T) {
			b := deployed(t)
			require.NoError(t, b.api.Delete(t.Context(), b.execution()))
			if tc.given != "" {
				execution := b.execution()
				execution.Status.JobID = tc.given
				require.NoError(t, b.api.Status().Update(t.Context(), execution))
			}
			b.now = b.execution().DeletionTimestamp.Add(tc.after)

			result := b.pass()

			job := b.execution().Status.JobID
			switch tc.job {
			case "":
				assert.Equal(t, "1", job)
				assert.Equal(t, ownerTime-tc.after, result.RequeueAfter)
			case "own":
				assert.NotContains(t, []string{"", "1"}, job)
			default:
				assert.Equal(t, tc.job, job)
				assert.Equal(t, v1alpha1.PhaseDeleting, b.execution().Status.Phase)
			}
		})
	}
}

func TestAFailedDeletionGoesOnWhenWhatHeldItIsGone(t *testing.T) {
	b := deployed(t)
	parent := b.deletedBelow(t, "parent")
	b.end("c", v1alpha1.PhaseDeleteFailed)
	b.settle()
	failed := b.requirePhase(v1alpha1.PhaseDeleteFailed).Status.JobID
	parent.Status.JobIDFinished, parent.Status.Phase = parent.Status.JobID, v1alpha1.PhaseDeleteFailed
	require.NoError(t, b.api.Status().Update(t.Context(), parent))
	b.requireSteady()

	b.letGo("c")
	b.settle()
	execution := b.execution()
	assert.Equal(t, v1alpha1.PhaseDeleting, execution.Status.Phase)
	assert.NotEqual(t, failed, execution.Status.JobID)
	b.requireSteady()
}
