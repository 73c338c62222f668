// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func gitRepository(revision string) *sourcev1.GitRepository {
	source := &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	source.Status.Artifact = &meta.Artifact{Revision: revision}
	return source
}

func kustomization(applied, attempted string, ready metav1.ConditionStatus, message string) *kustomizev1.Kustomization {
	k := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	k.Spec.SourceRef.Name = "shop"
	k.Status.LastAppliedRevision, k.Status.LastAttemptedRevision = applied, attempted
	k.Status.Conditions = []metav1.Condition{{Type: meta.ReadyCondition, Status: ready, Message: message}}
	return k
}

func installation(name, requested, finished string, phase v1alpha1.Phase) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
		Name: name, Generation: 1, Labels: map[string]string{"kustomize.toolkit.fluxcd.io/name": "shop"},
	}}
	inst.Status.ObservedGeneration = 1
	inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.Phase = requested, finished, phase
	return inst
}

func plainReport() (*report, *bytes.Buffer) {
	var out bytes.Buffer
	return newReport(&screen{out: &out, size: func() (int, int, error) { return 0, 0, assert.AnError }}, noon), &out
}

func (r *report) see(objects ...client.Object) (settled bool) {
	for _, object := range objects {
		settled = r.take(change{object: object}, noon.Add(time.Second))
	}
	return settled
}

func TestRoundEndsOnceEverythingIsReady(t *testing.T) {
	r, out := plainReport()
	inGit := []client.Object{gitRepository("main@1"), kustomization("main@1", "main@1", metav1.ConditionTrue, "")}

	assert.False(t, r.see(append(inGit, installation("a", "1", "", v1alpha1.PhaseProgressing))...))
	assert.True(t, r.see(installation("a", "1", "1", v1alpha1.PhaseSucceeded)))
	assert.False(t, r.see(installation("a", "1", "1", v1alpha1.PhaseSucceeded)), "a round ends once")

	assert.Contains(t, out.String(), "main@1 is deployed after 1.0s: ran a; untouched none.")
}

func TestNothingIsReadyBeforeTheNewRevisionIsApplied(t *testing.T) {
	r, _ := plainReport()

	assert.False(t, r.see(gitRepository("main@2"), kustomization("main@1", "main@1", metav1.ConditionTrue, ""),
		installation("a", "1", "1", v1alpha1.PhaseSucceeded)))
}

func TestFailedRevisionStaysFailedWhileItIsTriedAgain(t *testing.T) {
	r, out := plainReport()

	r.see(gitRepository("main@1"), kustomization("", "main@1", metav1.ConditionFalse, "it is broken"))
	out.Reset()
	r.see(kustomization("", "main@1", metav1.ConditionUnknown, "once more"), kustomization("", "main@1", metav1.ConditionFalse, "it is broken"))

	assert.Empty(t, out.String())
}

func TestNewRevisionAfterAFailureIsApplied(t *testing.T) {
	r, out := plainReport()
	r.see(gitRepository("main@1"), kustomization("", "main@1", metav1.ConditionFalse, "it is broken"))
	out.Reset()

	r.see(gitRepository("main@2"))

	assert.Contains(t, out.String(), "Applying     main@2")
}

func TestWhatIsGoneIsSaid(t *testing.T) {
	r, out := plainReport()
	inst := installation("a", "1", "1", v1alpha1.PhaseSucceeded)
	r.see(kustomization("", "", metav1.ConditionUnknown, ""), inst)
	out.Reset()

	r.take(change{object: inst, deleted: true}, noon)

	assert.Equal(t, "12:00:00  Installation a               Gone\n", out.String())
}

func TestDifferenceBetweenCounts(t *testing.T) {
	before := map[string]int{"same": 1, "once": 1, "twice": 1, "removed": 1}
	after := map[string]int{"same": 1, "once": 2, "twice": 3, "new": 1}

	assert.Equal(t, "ran new, once, twice (2 times); untouched same; removed removed", difference(before, after))
}
