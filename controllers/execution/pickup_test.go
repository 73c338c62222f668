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
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func (b *bench) isGone() bool {
	b.t.Helper()
	err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: namespace, Name: "one"}, &v1alpha1.Execution{})
	return apierrors.IsNotFound(err)
}

// deleteParent gives the Execution an Installation in deletion.
func (b *bench) deleteParent() {
	b.t.Helper()
	parent := installation()
	parent.Finalizers = []string{v1alpha1.Finalizer}
	require.NoError(b.t, b.api.Create(b.t.Context(), parent))
	require.NoError(b.t, b.api.Update(b.t.Context(), ownedBy(b.execution(), parent)))
	require.NoError(b.t, b.api.Delete(b.t.Context(), parent))
}

func TestWhatNoDeployerEverPickedUpGoesAtOnce(t *testing.T) {
	for name, prepare := range map[string]func(b *bench){
		"in its first job": func(*bench) {},
		"after the pick-up timeout": func(b *bench) {
			b.deploy("a", func(item *v1alpha1.DeployItem) { protocol.Fail(item, protocol.Interrupted(), b.now) })
			b.settle()
			b.requirePhase(v1alpha1.PhaseFailed)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			b.start("1")
			prepare(b)

			require.NoError(t, b.api.Delete(t.Context(), b.execution()))
			b.settle()

			assert.True(t, b.isGone())
			assert.Nil(t, b.item("a"))
		})
	}
}

func TestDroppedItemThatNoDeployerEverPickedUpGoesAtOnce(t *testing.T) {
	b := newBench(t, template("a", "t"), template("b", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.deploy("b", func(item *v1alpha1.DeployItem) { protocol.Fail(item, protocol.Interrupted(), b.now) })
	b.settle()
	b.specify(template("a", "t"))

	b.start("2")

	assert.Nil(t, b.item("b"))
	assert.Equal(t, "2", b.item("a").Status.JobID)
}

func TestWhatADeployerPickedUpIsNeverLetGo(t *testing.T) {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	for name, trace := range map[string]func(status *v1alpha1.DeployItemStatus){
		"began":           func(s *v1alpha1.DeployItemStatus) { s.LastReconcileTime = &now },
		"named itself":    func(s *v1alpha1.DeployItemStatus) { s.Deployer = &v1alpha1.DeployerInformation{Name: "d"} },
		"saw the spec":    func(s *v1alpha1.DeployItemStatus) { s.ObservedGeneration = 1 },
		"recorded":        func(s *v1alpha1.DeployItemStatus) { s.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{}`)} },
		"exported":        func(s *v1alpha1.DeployItemStatus) { s.ExportReference = &v1alpha1.ObjectReference{Name: "e"} },
		"works":           func(s *v1alpha1.DeployItemStatus) { s.Phase = v1alpha1.PhaseProgressing },
		"succeeded":       func(s *v1alpha1.DeployItemStatus) { s.Phase = v1alpha1.PhaseSucceeded },
		"speaks nonsense": func(s *v1alpha1.DeployItemStatus) { s.Phase = "Nonsense" },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			b.start("1")
			b.deploy("a", func(item *v1alpha1.DeployItem) {
				item.Status.JobIDFinished = item.Status.JobID
				trace(&item.Status)
			})
			require.NoError(t, b.api.Delete(t.Context(), b.execution()))

			b.settle()

			require.NotNil(t, b.item("a"))
			assert.Contains(t, b.item("a").Finalizers, v1alpha1.Finalizer)
			assert.False(t, b.isGone())
			b.requireSteady()
		})
	}
}

func TestDeployerThatComesWhenAnItemIsLetGoWins(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.deploy("a", func(item *v1alpha1.DeployItem) { protocol.Fail(item, protocol.Interrupted(), b.now) })
	b.settle()
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	came := false
	b.before = func(verb string, obj client.Object) error {
		if _, isItem := obj.(*v1alpha1.DeployItem); isItem && verb == "patch" && !came {
			came = true
			b.pickUp("a")
		}
		return nil
	}

	b.settle()

	require.True(t, came)
	require.NotNil(t, b.item("a"), "its job is under way")
	assert.Contains(t, b.item("a").Finalizers, v1alpha1.Finalizer)
}

func TestDeletionOfTheInstallationEndsAJobThatNobodyBegins(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(b *bench)
		ends    bool
	}{
		"nobody has come":      {func(*bench) {}, true},
		"only b was picked up": {func(b *bench) { b.pickUp("b") }, false},
		"b has ended":          {func(b *bench) { b.end("b", v1alpha1.PhaseSucceeded) }, true},
		"both ran before": {func(b *bench) {
			b.end("a", v1alpha1.PhaseSucceeded)
			b.end("b", v1alpha1.PhaseSucceeded)
			b.settle()
			b.now = b.now.Add(time.Minute)
			b.start("2")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"), template("b", "t"))
			b.start("1")
			c.prepare(b)
			b.deleteParent()
			b.settle()
			require.Equal(t, v1alpha1.PhaseProgressing, b.execution().Status.Phase, "a deployer has some time to come")
			require.Positive(t, b.pass().RequeueAfter)

			b.now = b.now.Add(grace + time.Second)
			b.settle()

			if !c.ends {
				assert.Equal(t, v1alpha1.PhaseProgressing, b.execution().Status.Phase)
				return
			}
			failed := b.requirePhase(v1alpha1.PhaseFailed)
			assert.Contains(t, failed.Status.LastError.Message, "deploy item a (one-a")
			assert.Contains(t, failed.Status.LastError.Message, "run a deployer for type t")
			b.requireSteady()
		})
	}
}

func TestDeletionDoesNotWaitForAClockThatWasWrong(t *testing.T) {
	b := newBench(t, template("a", "t"))
	right := b.now
	b.now = right.Add(1000 * time.Hour)
	b.start("1")
	b.settle()
	b.now = right
	b.deleteParent()
	b.settle()
	b.requirePhase(v1alpha1.PhaseFailed)
	b.requireSteady()
}

func TestJobWithoutADeployerIsNamedOnceItIsLate(t *testing.T) {
	b := deployed(t)
	b.now = b.now.Add(time.Hour)
	require.NoError(t, b.api.Delete(t.Context(), b.execution()))
	b.settle()
	require.Empty(t, protocol.CauseOf(b.execution()).Message)
	require.Positive(t, b.pass().RequeueAfter)

	b.now = b.now.Add(unattended + time.Second)
	b.settle()
	assert.Contains(t, protocol.CauseOf(b.execution()).Message, "deploy item c (one-c")
	b.requireSteady()

	b.pickUp("c")
	b.settle()
	assert.Empty(t, protocol.CauseOf(b.execution()).Message)
}
