// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// strip removes the finalizers of the Execution by hand.
func (b *bench) strip(annotations ...string) {
	b.t.Helper()
	execution := b.execution()
	execution.Finalizers = nil
	for _, annotation := range annotations {
		metav1.SetMetaDataAnnotation(&execution.ObjectMeta, annotation, "true")
	}
	require.NoError(b.t, b.api.Update(b.t.Context(), execution))
	b.writes = nil
}

func TestAStrippedFinalizerOfAnIdleExecutionComesBack(t *testing.T) {
	for name, phase := range map[string]v1alpha1.Phase{"succeeded": v1alpha1.PhaseSucceeded, "failed": v1alpha1.PhaseFailed} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, template("a", "t"))
			b.start("1")
			b.end("a", phase)
			b.settle()
			b.requirePhase(phase)
			b.strip()

			b.settle()

			assert.Equal(t, []string{"patch one"}, b.writes)
			assert.Equal(t, []string{v1alpha1.Finalizer}, b.execution().Finalizers)
			b.requirePhase(phase)
			b.requireSteady()
		})
	}
}

func TestAFinalizerThatIsStrippedAgainWaits(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.strip()
	b.settle()
	b.strip()

	result := b.pass()

	assert.Empty(t, b.writes)
	assert.Positive(t, result.RequeueAfter)
	b.now = b.now.Add(result.RequeueAfter + time.Second)
	b.settle()
	assert.Equal(t, []string{"patch one"}, b.writes)
	assert.Contains(t, b.execution().Finalizers, v1alpha1.Finalizer)
}

func TestAStrippedFinalizerStaysAway(t *testing.T) {
	t.Run("where nothing is to be uninstalled", func(t *testing.T) {
		b := newBench(t, template("a", "t"))
		b.start("1")
		b.end("a", v1alpha1.PhaseSucceeded)
		b.settle()
		b.strip(v1alpha1.DeleteWithoutUninstallAnnotation)
		b.settle()
		assert.Empty(t, b.execution().Finalizers)
		assert.Empty(t, b.writes)
	})
	t.Run("where nothing was ever made", func(t *testing.T) {
		b := newBench(t)
		b.strip()
		b.settle()
		assert.Empty(t, b.execution().Finalizers)
		assert.Empty(t, b.writes)
	})
}

// TestWhoRefusesTheFinalizerHidesNoLoss has an admission webhook refuse every change of metadata.
func TestWhoRefusesTheFinalizerHidesNoLoss(t *testing.T) {
	b := newBench(t, template("a", "t"))
	b.start("1")
	b.end("a", v1alpha1.PhaseSucceeded)
	b.settle()
	b.strip()
	b.wipe("a")
	refused := 0
	b.before = func(verb string, obj client.Object) error {
		if _, isExecution := obj.(*v1alpha1.Execution); isExecution && verb == "patch" {
			refused++
			return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("executions").GroupResource(), "one", errDied)
		}
		return nil
	}

	b.settle()
	b.settle()

	assert.Equal(t, 1, refused, "it is tried again after a pause")
	assert.Equal(t, protocol.ReasonChildLost, conditions.GetReason(b.execution(), meta.ReadyCondition))
	b.requireSteady()
}
