// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package writing

import (
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// ending is a root at the end of the job "job", for the generation that it has.
func ending() *Draft {
	return &Draft{Inst: fixture.Ended(), Outcome: &Outcome{}}
}

func TestNoJobFollowsWhileOneRuns(t *testing.T) {
	d := ending()
	conditions.MarkTrue(d.Inst, jobs.ChangedDuringJobCondition, jobs.ReasonAnotherJob, "%s", jobs.ChangedMessage)
	d.Outcome = nil
	require.NoError(t, (&Writer{}).queueNext(t.Context(), d))
	assert.Equal(t, "job", d.Inst.Status.JobID)
}

func TestAWriteBesideEditsMindsWhatWasDecidedOn(t *testing.T) {
	now := metav1.Now()
	for name, tc := range map[string]struct {
		change func(inst *v1alpha1.Installation)
		same   bool
	}{
		"nothing":             {func(*v1alpha1.Installation) {}, true},
		"spec":                {func(inst *v1alpha1.Installation) { inst.Generation++; inst.Spec.Context = "other" }, true},
		"foreign label":       {func(inst *v1alpha1.Installation) { inst.Labels = map[string]string{"a": "b"} }, true},
		"foreign annotation":  {func(inst *v1alpha1.Installation) { inst.Annotations = map[string]string{"a": "b"} }, true},
		"operation reconcile": {func(inst *v1alpha1.Installation) { setOperation(inst, v1alpha1.OperationReconcile) }, true},
		"operation interrupt": {func(inst *v1alpha1.Installation) { setOperation(inst, v1alpha1.OperationInterrupt) }, false},
		"ignored": {func(inst *v1alpha1.Installation) {
			inst.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
		}, false},
		"shard":                 {func(inst *v1alpha1.Installation) { inst.Labels = map[string]string{kit.ShardLabel: "b"} }, false},
		"suspended":             {func(inst *v1alpha1.Installation) { inst.Spec.Suspend = true }, false},
		"deletion policy":       {func(inst *v1alpha1.Installation) { inst.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan }, false},
		"deleted":               {func(inst *v1alpha1.Installation) { inst.DeletionTimestamp = &now }, false},
		"made anew":             {func(inst *v1alpha1.Installation) { inst.UID = "other" }, false},
		"finalizer of others":   {func(inst *v1alpha1.Installation) { inst.Finalizers = []string{"example.com/a"} }, false},
		"status":                {func(inst *v1alpha1.Installation) { inst.Status.JobID = "other" }, false},
		"owner":                 {func(inst *v1alpha1.Installation) { fixture.Nest(inst) }, false},
		"another job of a tree": {func(inst *v1alpha1.Installation) { inst.Annotations = map[string]string{v1alpha1.JobAnnotation: "b"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := ending()
			d.Persisted = d.Inst.Status.DeepCopy()
			d.Inst.Status.Phase = v1alpha1.PhaseSucceeded // is ahead of what is persisted
			live := d.Inst.DeepCopy()
			live.Status = *d.Persisted.DeepCopy()
			tc.change(live)
			assert.Equal(t, tc.same, d.decidedOn(live))
		})
	}
}

func setOperation(inst *v1alpha1.Installation, value string) {
	metav1.SetMetaDataAnnotation(&inst.ObjectMeta, v1alpha1.OperationAnnotation, value)
}
