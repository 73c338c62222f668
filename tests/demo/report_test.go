// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// inGit is a landscape of one Installation: the newest revision, the applied one, and how far its job is.
func inGit(newest, applied, finished string, phase v1alpha1.Phase) *landscape.Snapshot {
	s := &landscape.Snapshot{}
	source := sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	source.Status.Artifact = &meta.Artifact{Revision: newest}
	s.GitRepositories.Items = []sourcev1.GitRepository{source}
	kustomization := kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	kustomization.Spec.SourceRef.Name, kustomization.Status.LastAppliedRevision = "shop", applied
	s.Kustomizations.Items = []kustomizev1.Kustomization{kustomization}
	inst := v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "a", Generation: 1}}
	inst.Status.ObservedGeneration, inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.Phase = 1, "1", finished, phase
	inst.Status.History = meta.History{{TotalReconciliations: 1}}
	s.Installations.Items = []v1alpha1.Installation{inst}
	return s
}

func TestRoundEndsOnceEverythingIsReady(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	r := newReport(landscape.NewScreen(file), noon)
	later := noon.Add(time.Second)

	assert.False(t, r.take(inGit("main@1", "main@1", "", v1alpha1.PhaseProgressing), later))
	assert.True(t, r.take(inGit("main@1", "main@1", "1", v1alpha1.PhaseSucceeded), later))
	assert.False(t, r.take(inGit("main@1", "main@1", "1", v1alpha1.PhaseSucceeded), later), "a round ends once")
	assert.False(t, r.take(inGit("main@2", "main@1", "1", v1alpha1.PhaseSucceeded), later), "the new revision is not applied")

	out, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Contains(t, string(out), "main@1 is deployed after 1.0s: ran a; untouched none.")
}

// A suspended Installation holds up no round, and its change is not passed off as deployed.
func TestASuspendedInstallationIsToldApart(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	r := newReport(landscape.NewScreen(file), noon)
	snapshot := inGit("main@1", "main@1", "1", v1alpha1.PhaseSucceeded)
	inst := &snapshot.Installations.Items[0]
	inst.Spec.Suspend, inst.Generation = true, 2

	assert.True(t, r.take(snapshot, noon.Add(time.Second)))

	out, err := os.ReadFile(file.Name())
	require.NoError(t, err)
	assert.Contains(t, string(out), "✓ 12:00:01Z  main@1 is deployed after 1.0s: ran a; untouched none.\n")
	assert.Contains(t, string(out), "suspended, with a change that waits: a.\n")
}

func TestDifferenceBetweenRounds(t *testing.T) {
	before := map[string]string{"same": "1", "ran": "1", "removed": "1"}
	after := map[string]string{"same": "1", "ran": "2", "new": "1"}

	assert.Equal(t, "ran new, ran; untouched same; removed removed", difference(before, after))
}

func TestTook(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0.1s": 120 * time.Millisecond, "59.9s": 59900 * time.Millisecond, "3m12s": 192400 * time.Millisecond,
	} {
		assert.Equal(t, want, took(d))
	}
}
