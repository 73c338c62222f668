// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestNothingIsDecidedOnAPredecessorThatTheCacheShowsTooOld(t *testing.T) {
	producer, consumer := fixture.Exporter("producer", "1", ""), fixture.Working("consumer", "2", "job")
	producer.Status.Phase, producer.Status.LastError = v1alpha1.PhaseSucceeded, nil
	consumer.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: "out"}}
	o := with(t, producer, consumer, &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "out"}})
	require.NoError(t, o.awaitPredecessors(t.Context(), newScope(consumer, time.Unix(1, 0))))
	o.installations.Wrote(fixture.Newer(producer))
	assert.ErrorIs(t, o.awaitPredecessors(t.Context(), newScope(consumer, time.Unix(1, 0))), protocol.ErrStop)
}

// TestImportsThatComeWhileAJobFailsBehindAPredecessorStartNoOther has a job that waited for one predecessor, which has published meanwhile, and then
// fails because of another one.
func TestImportsThatComeWhileAJobFailsBehindAPredecessorStartNoOther(t *testing.T) {
	producer := func(name string, phase v1alpha1.Phase) *v1alpha1.Installation {
		inst := fixture.Working(name, name, "1")
		inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: name, DataRef: name}}
		inst.Status.JobIDFinished, inst.Status.Phase = "1", phase
		return inst
	}
	exported := func(name string) *v1alpha1.DataObject {
		return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)}, Data: v1alpha1.NewAnyJSON([]byte("1"))}
	}
	failed, slow := producer("failed", v1alpha1.PhaseFailed), producer("slow", v1alpha1.PhaseSucceeded)
	consumer := fixture.Working("consumer", "consumer", "2")
	consumer.Annotations = map[string]string{v1alpha1.ReconcileIfImportsChangedAnnotation: "true"}
	consumer.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "failed", DataRef: "failed"}, {Name: "slow", DataRef: "slow"}}
	consumer.Status.ImportsHash = "before"
	o := with(t, failed, slow, consumer, exported("failed"), exported("slow"))

	require.ErrorContains(t, o.awaitPredecessors(t.Context(), newScope(consumer, time.Unix(1, 0))), "depending on installation failed which is not succeeded")

	reason, err := o.Inputs.ChangedImports(t.Context(), consumer)
	require.NoError(t, err)
	assert.Empty(t, reason)
}

func TestAConsumerRepeatsNoExcerptOfItsPredecessor(t *testing.T) {
	err := predecessorFailure(fixture.Working("one", "one", "1"), "a template failed\n  > 17: {{ .imports.x }}")

	require.ErrorContains(t, err, "depending on installation one which is not succeeded: a template failed")
	assert.NotContains(t, err.Error(), "17")
}
