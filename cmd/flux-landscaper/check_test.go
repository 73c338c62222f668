// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// TestCheckNamesWhatIsMissing looks at a cluster without Flux whose controller has no Pods and one of whose deployers has died.
func TestCheckNamesWhatIsMissing(t *testing.T) {
	server := platform.New(t, platform.Options{LandscaperCRDs: true})
	c, err := connect(server.RestConfig)
	require.NoError(t, err)
	labels := map[string]string{"app": "controller"}
	lease := func(name, kind string, renewed time.Time) *coordinationv1.Lease {
		seconds, at := int32(60), metav1.NewMicroTime(renewed)
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{v1alpha1.DeployerLeaseLabel: "true"}, Annotations: map[string]string{
				v1alpha1.DeployerServesAnnotation: `{"deployer":"` + name + `","types":["` + kind + `"]}`,
			}},
			Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: &seconds, RenewTime: &at},
		}
	}
	require.NoError(t, c.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "landscaper-controller", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "landscaper", Image: "example.com/landscaper:v0.1.0", Args: []string{"controller"}}}},
		}},
	}))
	require.NoError(t, c.Create(t.Context(), lease("alive", "example.com/alive", time.Now())))
	require.NoError(t, c.Create(t.Context(), lease("dead", "example.com/dead", time.Now().Add(-time.Hour))))
	for _, kind := range []string{"example.com/alive", "example.com/dead", "example.com/none"} {
		item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{GenerateName: "item-", Namespace: "default"}}
		item.Spec.Type, item.Spec.Configuration = kind, &runtime.RawExtension{Raw: []byte("{}")}
		require.NoError(t, c.Create(t.Context(), item))
	}
	require.NoError(t, c.Create(t.Context(), &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: "east"}}))

	p := start(t)
	p.write("kubeconfig", string(server.Kubeconfig))
	_, out, status := p.run("check", "--kubeconfig", filepath.Join(p.home, "kubeconfig"))
	assert.Equal(t, statusDiffers, status)
	for _, line := range []string{
		"✔ Kubernetes v1.",
		"✗ Kustomization kustomize.toolkit.fluxcd.io/v1 is not served: install Flux 2.7 or newer\n",
		"✔ all kinds of landscaper.gardener.cloud/v1alpha1 are served\n",
		"✗ default/landscaper-controller is not available (0 of 1): example.com/landscaper:v0.1.0; kubectl -n default describe pods shows why\n",
		"✔ deployer alive carries out example.com/alive\n",
		"⚠ deployer dead carries out example.com/dead, and gives no sign of life: look at its Pods, or delete Lease default/dead if it is gone for good\n",
		"✗ no deployer carries out example.com/dead, which 1 DeployItems have: ",
		"✗ no deployer carries out example.com/none, which 1 DeployItems have: ",
		"✗ Environment east: its agent has never registered\n",
	} {
		assert.Contains(t, out, line)
	}
	assert.NotContains(t, out, "carries out example.com/alive, which")

	line, _, status := p.run("version", "--kubeconfig", "kubeconfig")
	assert.Zero(t, status)
	assert.Equal(t, "flux-landscaper: v0.0.0-dev\nlandscaper.gardener.cloud: v1alpha1\ncontroller: v0.1.0 (default/landscaper-controller)\n", line)
	assert.JSONEq(t, `{"client": "v0.0.0-dev", "api": ["v1alpha1"], "processes": [
		{"runs": "controller", "at": "default/landscaper-controller", "image": "example.com/landscaper:v0.1.0", "version": "v0.1.0", "skew": false}]}`,
		p.must("version", "-o", "json", "--kubeconfig", "kubeconfig"))
}

func TestVersionWithoutACluster(t *testing.T) {
	p := start(t)
	assert.Equal(t, "flux-landscaper: v0.0.0-dev\n", p.must("version", "--client"))
	assert.Equal(t, "client: v0.0.0-dev\n", p.must("version", "--client", "-o", "yaml"))
	assert.Contains(t, p.fail("version"), "--client prints the version of this command alone")
}

func TestVersionsThatAreTooFarApart(t *testing.T) {
	for name, tc := range map[string]struct {
		theirs, mine string
		want         bool
	}{
		"the same":             {"v1.2.0", "v1.2.3", false},
		"one minor version":    {"v1.3.0", "v1.2.3", false},
		"two minor versions":   {"v1.0.0", "v1.2.3", true},
		"another major":        {"2.2.0", "v1.2.3", true},
		"a build of a machine": {"v9.0.0", "v0.0.0-dev", false},
		"a digest":             {"", "v1.2.3", false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, isSkewed(tc.theirs, tc.mine)) })
	}
}

// TestReportingProcesses has an agent, a deployer of this cluster, and one of others whose version has changed.
func TestReportingProcesses(t *testing.T) {
	item := func(name, deployer, version string, at time.Time) v1alpha1.DeployItem {
		item := v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "team"}}
		item.Status.Deployer = &v1alpha1.DeployerInformation{Name: deployer, Version: version}
		item.Status.LastReconcileTime = &metav1.Time{Time: at}
		return item
	}
	snapshot := &landscape.Snapshot{}
	snapshot.Environments.Items = []v1alpha1.Environment{{ObjectMeta: metav1.ObjectMeta{Name: "east"}, Status: v1alpha1.EnvironmentStatus{AgentVersion: "v1.2.3"}}}
	snapshot.DeployItems.Items = []v1alpha1.DeployItem{
		item("a", "helm.deployer.landscaper.gardener.cloud", "v1.0.0", time.Unix(3, 0)),
		item("b", "robots.example.com", "v2", time.Unix(2, 0)), item("c", "robots.example.com", "v1", time.Unix(1, 0)),
	}

	found := reporting(snapshot, []*process{{Runs: "deployer helm"}})

	assert.Equal(t, []*process{
		{Runs: "agent", At: "Environment east", Version: "v1.2.3"}, {Runs: "deployer robots.example.com", At: "by DeployItem team/b", Version: "v2"},
	}, found)
}

func TestVersionsDoNotSteerATerminal(t *testing.T) {
	for name, p := range map[string]*process{
		"an image":   {Runs: "controller", Image: "example.com/\x1b[2Jimage", At: "team/a"},
		"a version":  {Runs: "agent", Version: "v1\x1b]0;title\a", At: "Environment east"},
		"a deployer": {Runs: "deployer \x1b[1A", Version: "v1", At: "by DeployItem team/a"},
	} {
		t.Run(name, func(t *testing.T) { assert.NotContains(t, p.String(), "\x1b") })
	}
}
