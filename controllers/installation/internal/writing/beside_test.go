// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package writing

import (
	"context"
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
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

func TestEachJobLeavesALineAndAnEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		say         func(ctx context.Context, w *Writer, d *Draft)
		line, event string
	}{
		"a success": {func(ctx context.Context, w *Writer, d *Draft) {
			d.Inst.Status.Phase = v1alpha1.PhaseSucceeded
			d.Outcome = &Outcome{Message: "Deployed 2 items", Took: 1400 * time.Millisecond}
			w.announce(ctx, d)
		}, `"result"="Succeeded" "reason"="ReconciliationSucceeded"`, "Normal ReconciliationSucceeded Deployed 2 items"},
		"a failure": {func(ctx context.Context, w *Writer, d *Draft) {
			d.Inst.Status.Phase = v1alpha1.PhaseFailed
			d.Outcome = &Outcome{Failure: &kit.Failure{Reason: "RenderFailed", Err: assert.AnError}, Took: 1400 * time.Millisecond}
			w.announce(ctx, d)
		}, `"result"="Failed" "reason"="RenderFailed"`, "Warning RenderFailed " + assert.AnError.Error()},
		"an uninstall": {func(ctx context.Context, w *Writer, d *Draft) {
			w.AnnounceRelease(ctx, d, 1400*time.Millisecond)
		}, `"result"="Deleted" "reason"="UninstallSucceeded"`, "Normal UninstallSucceeded Uninstalled main@sha1:3e4d0b68 in 1.4s"},
		"a deletion that keeps": {func(ctx context.Context, w *Writer, d *Draft) {
			d.Inst.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan
			w.AnnounceRelease(ctx, d, 1400*time.Millisecond)
		}, `"result"="Deleted" "reason"="UninstallSucceeded"`, "Normal UninstallSucceeded Deleted without uninstall in 1.4s"},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			logger := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
			events := record.NewFakeRecorder(2)
			d := ending()
			d.Inst.Name, d.Inst.Status.JobID, d.Inst.Status.JobIDFinished = "root", "job", "job"
			d.Inst.Status.LastAttemptedRevision, d.Inst.Status.LastAppliedRevision = "main@sha1:3e4d0b68aaaa", "main@sha1:3e4d0b68aaaa"
			tc.say(logr.NewContext(t.Context(), logger), &Writer{Recorder: events, Related: &relations.Finder{}}, d)
			require.Len(t, lines, 1)
			assert.Contains(t, lines[0], `"msg"="job ended" "root"="root" "job"="job" "revision"="main@sha1:3e4d0b68aaaa" "duration"="1.4s" `+tc.line)
			require.Len(t, events.Events, 1)
			assert.Contains(t, <-events.Events, tc.event)
		})
	}
}
