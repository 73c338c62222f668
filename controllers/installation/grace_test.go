// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
)

// working is an Installation in a job.
func working(name, uid, job string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(uid)}}
	inst.Status.JobID = job
	return inst
}

func TestE06EachInstallationHasItsOwnGrace(t *testing.T) {
	begin := time.Unix(1000, 0)
	later := begin.Add(importGrace)
	for name, tc := range map[string]struct {
		inst      *v1alpha1.Installation
		operation string
		over      bool
	}{
		"the one that began":           {working("a", "1", "job"), jobs.ImportOperation, true},
		"a sibling in the same job":    {working("b", "2", "job"), jobs.ImportOperation, false},
		"its successor of that name":   {working("a", "3", "job"), jobs.ImportOperation, false},
		"another job":                  {working("a", "1", "next"), jobs.ImportOperation, false},
		"something else that it lacks": {working("a", "1", "job"), jobs.ContextOperation, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := &graces{}
			require.False(t, g.over(working("a", "1", "job"), jobs.ImportOperation, begin))
			assert.Equal(t, tc.over, g.over(tc.inst, tc.operation, later))
		})
	}
}

func TestE17GracesEndWithTheJob(t *testing.T) {
	r := &Reconciler{}
	s := &reading{inst: working("a", "1", "job"), now: time.Unix(1000, 0)}
	require.Error(t, r.contextFailure(s, lacking("Context missing")))
	require.Error(t, r.importFailure(t.Context(), s, &absent{kind: "DataObject"}))
	require.Len(t, r.graces.since, 2)
	r.forgetJob(client.ObjectKeyFromObject(s.inst))
	assert.Empty(t, r.graces.since)
}

func TestE17StateSecretsAreNotRememberedForEver(t *testing.T) {
	r := &Reconciler{}
	made := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "1", ResourceVersion: "7"}}
	r.states.Created(made)
	other := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "state", UID: "2", ResourceVersion: "9"}}
	r.seen("ConfigMap", other)
	assert.Positive(t, r.states.Unseen(client.ObjectKeyFromObject(made)), "only Secrets count")
	r.seen("Secret", &metav1.PartialObjectMetadata{ObjectMeta: made.ObjectMeta})
	assert.Zero(t, r.states.Unseen(client.ObjectKeyFromObject(made)))
}
