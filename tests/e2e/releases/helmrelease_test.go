// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// documented returns the manifests of docs/agent.md that install the agent by its chart, in the namespace and with the registry of the test. Nothing runs the
// Pods of the test, so Flux waits for none.
func (p *published) documented() string {
	p.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "agent.md"))
	require.NoError(p, err)
	for _, block := range strings.Split(string(page), "```yaml\n") {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(block, "kind: HelmRelease") {
			continue
		}
		filled := strings.NewReplacer(
			"namespace: ls-system", "namespace: "+p.namespace,
			"url: oci://ghcr.io/flux-landscaper/", "insecure: true\n  verify: {provider: cosign, secretRef: {name: ours}}\n  url: "+p.Registry.URL(p.path)+"/",
			"  chartRef:", "  install: {disableWait: true}\n  upgrade: {disableWait: true}\n  chartRef:",
		).Replace(block)
		require.Contains(p, filled, "disableWait")
		require.Contains(p, filled, "insecure")
		return filled
	}
	require.Fail(p, "docs/agent.md has no HelmRelease")
	return ""
}

// agent returns the Deployment of the agent.
func (p *published) agent() *appsv1.Deployment {
	p.Helper()
	list := &appsv1.DeploymentList{}
	require.NoError(p, p.Client().List(p.ctx, list, client.InNamespace(p.namespace)))
	require.Len(p, list.Items, 1)
	return &list.Items[0]
}

// made returns how many objects of each kind there are that Flux has made for a HelmRelease of the namespace.
func (p *published) made(release string) map[string]int {
	p.Helper()
	ofRelease := client.MatchingLabels{"helm.toolkit.fluxcd.io/name": release, "helm.toolkit.fluxcd.io/namespace": p.namespace}
	found := map[string]int{}
	for kind, list := range map[string]client.ObjectList{
		"Deployment": &appsv1.DeploymentList{}, "ServiceAccount": &corev1.ServiceAccountList{}, "ConfigMap": &corev1.ConfigMapList{},
		"Role": &rbacv1.RoleList{}, "RoleBinding": &rbacv1.RoleBindingList{},
		"ClusterRole": &rbacv1.ClusterRoleList{}, "ClusterRoleBinding": &rbacv1.ClusterRoleBindingList{},
	} {
		require.NoError(p, p.Client().List(p.ctx, list, ofRelease))
		if items := apimeta.LenList(list); items > 0 {
			found[kind] = items
		}
	}
	return found
}

// startHelmController runs the helm-controller of Flux until the end of the test.
func (p *published) startHelmController(flux *binaries.Binaries) {
	p.Helper()
	require.NoError(p, p.InstallCRDs(p.ctx, flux.CRDDir(binaries.HelmController)))
	controller, err := rig.StartFlux(p.Cluster, flux.Path(binaries.HelmController), binaries.HelmController)
	require.NoError(p, err)
	p.Cleanup(func() {
		if p.Failed() {
			p.Logf("log of helm-controller:\n%s", controller.LogTail(40))
		}
		assert.NoError(p, controller.Stop(30*time.Second))
	})
}

// The repository of a fenced cluster may install the agent by its chart. A release that the source selects is an upgrade; without the HelmRelease the agent
// goes with all that the chart has made.
func TestFluxInstallsTheAgentByItsChart(t *testing.T) {
	flux := platform.NeedProgram(t, binaries.HelmController)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p := publish(t, "released-"+strings.ToLower(rand.Text()), key)
	p.secret("ours", key)
	p.startHelmController(flux)
	require.NoError(t, p.ApplyYAML(p.ctx, p.documented()))
	release := &unstructured.Unstructured{}
	release.SetGroupVersionKind(schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"})
	release.SetNamespace(p.namespace)
	release.SetName("my-env")

	require.NoError(t, p.AwaitReady(p.ctx, release))

	first := p.agent().Spec.Template.Spec.Containers[0]
	assert.Contains(t, first.Args, "agent")
	assert.Contains(t, first.Image, p.Registry.Host+"/"+p.path+"/landscaper:v1.0.0@sha256:")

	p.release("v1.1.0")
	source := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "landscaper-agent"}}
	asked := `{"metadata":{"annotations":{"` + meta.ReconcileRequestAnnotation + `":"now"}}}`
	require.NoError(t, p.Client().Patch(p.ctx, source, client.RawPatch(types.MergePatchType, []byte(asked))))
	require.NoError(t, p.Await(p.ctx, release, func() bool {
		history, _, _ := unstructured.NestedSlice(release.Object, "status", "history")
		return len(history) == 2
	}))
	require.NoError(t, p.AwaitReady(p.ctx, release))
	assert.Contains(t, p.agent().Spec.Template.Spec.Containers[0].Image, p.Registry.Host+"/"+p.path+"/landscaper:v1.1.0@sha256:")

	require.Subset(t, slices.Collect(maps.Keys(p.made("my-env"))), []string{"Deployment", "ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
	require.NoError(t, p.Client().Delete(p.ctx, release))
	require.NoError(t, p.AwaitGone(p.ctx, release))
	assert.Empty(t, p.made("my-env"))
}
