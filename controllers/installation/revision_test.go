// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// endedJob is an Installation whose job ended in a phase, with a revision of its source.
func endedJob(revision string, phase v1alpha1.Phase, began time.Time) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{}
	inst.Status.Phase = phase
	inst.Status.Sources = []v1alpha1.SourceStatus{{Kind: "GitRepository", Name: "shop", Revision: revision, ContentDigest: "sha256:" + revision}}
	inst.Status.TransitionTimes = &v1alpha1.TransitionTimes{TriggerTime: &metav1.Time{Time: began}}
	return inst
}

func TestTheRevisionOfAFailedJobIsAttemptedOnly(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	inst := endedJob("one", v1alpha1.PhaseSucceeded, now.Add(-3*time.Second))
	recordRevision(inst, now)
	inst.Status.Phase = v1alpha1.PhaseFailed
	inst.Status.Sources[0].Revision, inst.Status.Sources[0].ContentDigest = "two", "sha256:two"
	recordRevision(inst, now)

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
		recordRevision(inst, time.Unix(10, 0))
	}
	require.Len(t, inst.Status.History, 1)
	assert.EqualValues(t, 3, inst.Status.History[0].TotalReconciliations)
}

func TestTheHistoryHasFiveEntries(t *testing.T) {
	inst := endedJob("", v1alpha1.PhaseSucceeded, time.Unix(0, 0))
	for i := range 8 {
		inst.Status.ImportsHash = fmt.Sprint(i)
		recordRevision(inst, time.Unix(int64(i), 0))
	}
	assert.Len(t, inst.Status.History, 5)
}

func TestRevisionOfAnInstallation(t *testing.T) {
	component := &v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{Version: "1.2.3"}}
	for name, c := range map[string]struct {
		sources   []v1alpha1.SourceStatus
		component *v1alpha1.ComponentDescriptorDefinition
		want      string
	}{
		"source":               {sources: []v1alpha1.SourceStatus{{Revision: "main@sha1:a"}}, want: "main@sha1:a"},
		"component by name":    {component: component, want: "1.2.3"},
		"source and component": {sources: []v1alpha1.SourceStatus{{Revision: "main@sha1:a"}}, component: component, want: "main@sha1:a"},
		"source not fetched":   {sources: []v1alpha1.SourceStatus{{}}, component: component, want: "1.2.3"},
		"in place":             {component: &v1alpha1.ComponentDescriptorDefinition{}},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			inst.Spec.ComponentDescriptor, inst.Status.Sources = c.component, c.sources
			assert.Equal(t, c.want, revisionOf(inst))
		})
	}
}
