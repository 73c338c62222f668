// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestStatusOfInstallation(t *testing.T) {
	inst := func(change func(*v1alpha1.Installation)) *v1alpha1.Installation {
		made := installation("a", "1", "1", v1alpha1.PhaseSucceeded)
		change(made)
		return made
	}
	tests := map[string]struct {
		inst *v1alpha1.Installation
		want status
	}{
		"succeeded": {inst(func(*v1alpha1.Installation) {}), status{state: done, phase: "Succeeded", revision: "generation 1"}},
		"new": {
			inst(func(i *v1alpha1.Installation) { i.Status = v1alpha1.InstallationStatus{ObservedGeneration: -1} }),
			status{phase: "Waiting"},
		},
		"next job": {
			inst(func(i *v1alpha1.Installation) { i.Status.JobID = "2" }),
			status{phase: "Queued", revision: "generation 1"},
		},
		"changed": {
			inst(func(i *v1alpha1.Installation) { i.Generation = 2 }),
			status{phase: "Succeeded", revision: "generation 1", message: "the spec has changed"},
		},
		"failed": {
			inst(func(i *v1alpha1.Installation) {
				i.Status.Phase, i.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Message: "no Target"}
			}),
			status{state: failed, phase: "Failed", revision: "generation 1", message: "no Target"},
		},
		"going away": {
			inst(func(i *v1alpha1.Installation) { i.DeletionTimestamp, i.Generation = &metav1.Time{Time: noon}, 2 }),
			status{phase: "Deleting", revision: "generation 1"},
		},
		"from a source": {
			inst(func(i *v1alpha1.Installation) {
				i.Status.Sources = []v1alpha1.SourceStatus{{Revision: "1.0.0@sha256:0123456789abcdef"}}
			}),
			status{state: done, phase: "Succeeded", revision: "1.0.0@sha256:01234567"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, statusOfInstallation(test.inst)) })
	}
}

func TestTableAlignsATree(t *testing.T) {
	root := node{title: "Kustomization shop", status: &status{state: done, phase: "Ready", revision: "main@1"}, took: 2 * time.Second, runs: 1}
	broken := node{title: "Installation a", status: &status{state: failed, phase: "Failed", message: "no Target\nand more"}}
	working := node{title: "Installation b", status: &status{phase: "Progressing"}}
	working.children = []node{{title: "ConfigMap x/y"}}
	root.children = []node{broken, working}

	assert.Equal(t, []string{
		"OBJECT                 PHASE        RUNS     TOOK  REVISION",
		"Kustomization shop   ✓ Ready           1     2.0s  main@1",
		"├─ Installation a    ✗ Failed                                no Target",
		"└─ Installation b    … Progressing",
		"   └─ ConfigMap x/y",
	}, table(rows([]node{root}), false))
}

func TestOneLineShortensDigests(t *testing.T) {
	assert.Equal(t, "Applied main@sha1:01234567", oneLine("Applied main@sha1:0123456789abcdef0123456789abcdef01234567\n"))
}

func TestTook(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0.1s": 120 * time.Millisecond, "59.9s": 59900 * time.Millisecond, "3m12s": 192400 * time.Millisecond,
	} {
		assert.Equal(t, want, took(d))
	}
}

func TestTreeHoldsWhatEachDeployerHasDeployed(t *testing.T) {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Name: "a-web-x", Labels: map[string]string{
		v1alpha1.ExecutionManagedByLabel: "a", v1alpha1.ExecutionManagedNameLabel: "web",
	}}}
	item.Spec.Type = v1alpha1.HelmDeployItemType
	item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"managedResources": [{"resource": {"kind": "Deployment", "name": "web", "namespace": "n"}}],
		"release": {"name": "web", "namespace": "n", "revision": 2, "chartName": "web", "chartVersion": "1.0.0"}}`)}
	r, _ := plainReport()
	r.see(gitRepository("main@1"), kustomization("", "", metav1.ConditionUnknown, ""), item,
		installation("a", "1", "", v1alpha1.PhaseProgressing), installation("b", "1", "", v1alpha1.PhaseProgressing))

	var titles []string
	for _, row := range rows(r.landscape.tree(noon)) {
		titles = append(titles, row.title+" "+row.revision)
	}
	assert.Equal(t, []string{
		"GitRepository shop main@1", "Kustomization shop main@1", "├─ Installation a generation 1",
		"│  └─ DeployItem web chart web 1.0.0", "│     ├─ Release n/web, revision 2 ", "│     └─ Deployment n/web ",
		"└─ Installation b generation 1",
	}, titles)
}
