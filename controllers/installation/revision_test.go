// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// endedJob is an Installation whose job ended in a phase, with a revision of its source.
func endedJob(revision string, phase v1alpha1.Phase, began time.Time) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{}
	inst.Status.Phase = phase
	inst.Status.Sources = []v1alpha1.SourceStatus{{Kind: "GitRepository", Name: "shop", Revision: revision, ContentDigest: "sha256:" + revision}}
	inst.Status.TransitionTimes = &v1alpha1.TransitionTimes{TriggerTime: &metav1.Time{Time: began}}
	return inst
}

// recordAt ends the job of an Installation at a time.
func recordAt(inst *v1alpha1.Installation, now time.Time) {
	(newScope(inst, now)).recordRevision()
}

func TestTheRevisionOfAFailedJobIsAttemptedOnly(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	inst := endedJob("one", v1alpha1.PhaseSucceeded, now.Add(-3*time.Second))
	recordAt(inst, now)
	inst.Status.Phase = v1alpha1.PhaseFailed
	inst.Status.Sources[0].Revision, inst.Status.Sources[0].ContentDigest = "two", "sha256:two"
	recordAt(inst, now)

	assert.Equal(t, "two", inst.Status.LastAttemptedRevision)
	assert.Equal(t, "one", inst.Status.LastAppliedRevision)
	require.Len(t, inst.Status.History, 2)
	assert.Equal(t, "Failed", inst.Status.History[0].LastReconciledStatus)
	assert.Equal(t, map[string]string{"revision": "one"}, inst.Status.History[1].Metadata)
	assert.Equal(t, 3*time.Second, inst.Status.History[1].LastReconciledDuration.Duration)
}

func TestTheHistoryCountsJobsOfTheSameContent(t *testing.T) {
	inst := endedJob("one", v1alpha1.PhaseSucceeded, time.Unix(0, 0))
	for range 3 {
		recordAt(inst, time.Unix(10, 0))
	}
	require.Len(t, inst.Status.History, 1)
	assert.EqualValues(t, 3, inst.Status.History[0].TotalReconciliations)
}

// TestAJobHasTheRevisionOfItsSpec ends a job whose spec a person has replaced after its Execution got it.
func TestAJobHasTheRevisionOfItsSpec(t *testing.T) {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root", Generation: 2}}
	inst.Status.ObservedGeneration, inst.Status.JobID, inst.Status.JobIDFinished = 2, "job", "job"
	s := newScope(inst, time.Time{})
	version := &v1alpha1.ComponentDescriptorReference{Version: "1.0.0"}
	s.inst.Spec.ComponentDescriptor = &v1alpha1.ComponentDescriptorDefinition{Reference: version}
	s.content = &content{}
	s.persisted = s.inst.Status.DeepCopy()
	s.inst.Status.JobIDFinished = ""
	r := with(t, s.inst)
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return nil
		},
	})
	r.setUp(r.Client)
	require.NoError(t, r.recordJob(t.Context(), s))
	assert.Equal(t, "1.0.0", s.inst.Status.LastAttemptedRevision)

	s.execution = &v1alpha1.Execution{}
	s.execution.Status.JobID = s.inst.Status.JobID
	s.inst.Generation++
	version.Version = "2.0.0"
	require.NoError(t, (&Reconciler{}).complete(t.Context(), s))
	assert.Equal(t, "1.0.0", s.inst.Status.LastAppliedRevision)
	assert.Equal(t, "1.0.0", s.inst.Status.LastAttemptedRevision)
	assert.Empty(t, s.inst.Status.History, "nobody has the spec of the job any more")
}

func TestAJobThatFailsAgainForTheSameCauseCountsOnce(t *testing.T) {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "root", Generation: 2}}
	inst.Status.ObservedGeneration, inst.Status.JobID, inst.Status.JobIDFinished = 2, "job", "job"
	s := newScope(inst, time.Time{})
	s.inst.Status.JobIDFinished = ""
	refused := &protocol.Failure{Kind: protocol.Stalled, Operation: jobs.Operation, Reason: "Invalid", Err: errors.New("metadata.annotations: too long")}
	s.fail(refused)
	before := s.inst.Status.DeepCopy()
	s.now = s.now.Add(time.Minute)
	s.fail(refused)
	assert.Equal(t, before, &s.inst.Status)
	require.Len(t, s.inst.Status.History, 1)
}

func TestTheHistoryHasFiveEntries(t *testing.T) {
	inst := endedJob("", v1alpha1.PhaseSucceeded, time.Unix(0, 0))
	for i := range 8 {
		inst.Status.ImportsHash = fmt.Sprint(i)
		recordAt(inst, time.Unix(int64(i), 0))
	}
	assert.Len(t, inst.Status.History, 5)
}
