// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestUninstallOf(t *testing.T) {
	deleted := metav1.NewTime(time.Unix(1000, 0))
	at := func(seconds int64) *v1alpha1.TransitionTimes {
		when := metav1.NewTime(time.Unix(seconds, 0))
		return &v1alpha1.TransitionTimes{TriggerTime: &when}
	}
	for name, c := range map[string]struct {
		deleted       *metav1.Time
		job, finished string
		phase         v1alpha1.Phase
		times         *v1alpha1.TransitionTimes
		want          uninstall
	}{
		"nobody deleted it":                      {nil, "J", "J", "Succeeded", nil, toDelete},
		"never had a job":                        {&deleted, "", "", "", nil, toStart},
		"has ended another job":                  {&deleted, "I", "I", "Succeeded", nil, toStart},
		"failed to uninstall in another job":     {&deleted, "I", "I", "DeleteFailed", nil, toStart},
		"runs another job":                       {&deleted, "I", "H", "Progressing", nil, underWay},
		"runs the job":                           {&deleted, "J", "I", "Deleting", nil, underWay},
		"succeeded, then was deleted":            {&deleted, "J", "J", "Succeeded", at(999), toStart},
		"the same in one second":                 {&deleted, "J", "J", "Succeeded", at(1000), toStart},
		"the same, times lost":                   {&deleted, "J", "J", "Succeeded", nil, toStart},
		"succeeded to uninstall, but is there":   {&deleted, "J", "J", "Succeeded", at(1001), hasFailed},
		"failed to uninstall":                    {&deleted, "J", "J", "DeleteFailed", at(1001), hasFailed},
		"failed, and then was deleted":           {&deleted, "J", "J", "Failed", at(999), hasFailed},
		"ended in a phase of a foreign deployer": {&deleted, "J", "J", "Nonsense", at(999), hasFailed},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: c.deleted}}
			item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase, item.Status.TransitionTimes = c.job, c.finished, c.phase, c.times
			assert.Equal(t, c.want, uninstallOf(item, "J"))
		})
	}
}

func TestE04ChangedTypeIsReplaced(t *testing.T) {
	b := newBench(t, template("a", "old"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)
	first := b.item("a")

	b.specify(template("a", "new"))
	b.start("2")
	going := b.item("a")
	require.False(t, going.DeletionTimestamp.IsZero(), "an item of another type goes")
	require.Equal(t, "2", going.Status.JobID, "and its deployer has got the job to uninstall it")
	require.Equal(t, "old", going.Spec.Type)
	b.requirePhase(v1alpha1.PhaseProgressing)
	b.letGo("a")
	b.settle()
	fresh := b.item("a")
	require.NotEqual(t, first.UID, fresh.UID)
	require.Equal(t, "new", fresh.Spec.Type)
	require.Equal(t, "2", fresh.Status.JobID)
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)
	b.requireSteady()
}

// newRetypedBench returns a bench with a deployed item, a, whose type somebody has changed from old to new.
func newRetypedBench(t *testing.T) (*bench, *v1alpha1.DeployItem) {
	b := newBench(t, template("a", "old"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	item := b.item("a")
	item.Status.Deployer = &v1alpha1.DeployerInformation{Identity: "i", Name: "n", Version: "v", Type: "old"}
	require.NoError(t, b.api.Status().Update(t.Context(), item))
	item.Spec.Type = "new"
	require.NoError(t, b.api.Update(t.Context(), item))
	return b, item
}

// TestATypeThatSomebodyChangedIsSetBack changes the type of an item by hand: its deployer has to go on with what it has deployed.
func TestATypeThatSomebodyChangedIsSetBack(t *testing.T) {
	b, item := newRetypedBench(t)

	b.start("2")

	kept := b.item("a")
	require.Equal(t, item.UID, kept.UID)
	require.Equal(t, "old", kept.Spec.Type)
	require.True(t, kept.DeletionTimestamp.IsZero())
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseSucceeded)
	b.requireSteady()
}

// TestATypeThatSomebodyChangedIsSetBackToUninstall changes the type of an item by hand, and then the item has to go: only a deployer of the type before
// knows what is to be uninstalled.
func TestATypeThatSomebodyChangedIsSetBackToUninstall(t *testing.T) {
	for name, leave := range map[string]func(b *bench){
		"the template is gone": func(b *bench) {
			b.specify(template("b", "t"))
			b.start("2")
		},
		"the Execution is deleted": func(b *bench) {
			require.NoError(t, b.api.Delete(t.Context(), b.execution()))
			b.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newRetypedBench(t)

			leave(b)

			going := b.item("a")
			require.False(t, going.DeletionTimestamp.IsZero())
			require.Equal(t, "old", going.Spec.Type)
			require.False(t, going.Status.IsIdle(), "its deployer has got a job to uninstall")
		})
	}
}

func TestE04DeletedItemIsUninstalledAndCreatedAgain(t *testing.T) {
	for name, c := range map[string]struct{ end, next bool }{
		"while its deployer works": {end: false},
		"after it succeeded":       {end: true},
		"between two jobs":         {end: true, next: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"), template("b", "t"))
			b.start("1")
			if c.end {
				b.end("a", v1alpha1.PhaseSucceeded)
			}
			if c.next {
				b.end("b", v1alpha1.PhaseSucceeded)
				b.settle()
				b.requirePhase(v1alpha1.PhaseSucceeded)
			}
			require.NoError(t, b.api.Delete(t.Context(), b.item("a")))
			job := "1"
			if c.next {
				job = "2"
				b.start(job)
			}
			b.settle()
			going := b.item("a")
			require.Equal(t, job, going.Status.JobID)
			require.False(t, going.Status.IsIdle(), "its deployer has something to do")
			b.letGo("a")
			b.settle()
			require.Equal(t, job, b.item("a").Status.JobID)
			b.end("a", v1alpha1.PhaseSucceeded)
			b.end("b", v1alpha1.PhaseSucceeded)
			b.settle()
			b.requirePhase(v1alpha1.PhaseSucceeded)
			b.requireSteady()
		})
	}
}

func TestE04FailedUninstallOfAReplacedItemEndsTheJob(t *testing.T) {
	b := newBench(t, template("a", "old"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.specify(template("a", "new"))
	b.start("2")
	b.deploy("a", func(item *v1alpha1.DeployItem) {
		item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseDeleteFailed, "2"
		item.Status.LastError = &v1alpha1.Error{Reason: "Unreachable", Message: "the cluster does not answer"}
	})
	b.settle()
	failed := b.requirePhase(v1alpha1.PhaseFailed)
	assert.Contains(t, failed.Status.LastError.Message, "the cluster does not answer")
	b.requireSteady()

	b.start("3")
	require.Equal(t, "3", b.item("a").Status.JobID, "the next job tries again")
}

func TestDeployerThatEndsADeletionWithoutLettingGoFailsTheJob(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	require.NoError(t, b.api.Delete(t.Context(), b.item("a")))
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.requirePhase(v1alpha1.PhaseFailed)
	b.requireSteady()
}

func TestItemOfAnEarlierExecutionIsReplaced(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	item := b.item("a")
	item.OwnerReferences[0].UID = "of an earlier one"
	require.NoError(t, b.api.Update(t.Context(), item))
	b.start("2")
	require.False(t, b.item("a").DeletionTimestamp.IsZero())
	b.letGo("a")
	b.settle()
	require.Equal(t, b.execution().UID, b.item("a").OwnerReferences[0].UID)
}

func TestDeleteWithoutUninstallLetsOrphansGo(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	execution := b.execution()
	execution.Annotations[v1alpha1.DeleteWithoutUninstallAnnotation] = "true"
	require.NoError(t, b.api.Update(t.Context(), execution))
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	b.settle()
	assert.Nil(t, b.item("a"))
}
