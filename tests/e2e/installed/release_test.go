// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installed_test

import (
	"os/exec"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

// The release of the previous commit is installed by Flux from its artifact, delivers the sample landscape, is upgraded to this one and rolled back
// beneath it without a job, while other Installations change without a pause, and goes without a trace but the CRDs.
func TestAReleaseIsInstalledByFlux(t *testing.T) {
	c := newCluster(t)
	c.former("v0.1.0")
	_, install := c.subscribe()
	c.mock()
	repository, err := sample.Publish(c.ctx, c.Platform)
	require.NoError(t, err)
	require.NoError(t, sample.Sync(c.ctx, c.Platform, repository))
	shop := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: sample.Namespace, Namespace: sample.Namespace}}
	require.NoError(t, c.AwaitReady(c.ctx, shop))
	before, image := c.jobs(), c.deployment("landscaper-controller").Spec.Template.Spec.Containers[0].Image
	require.NotEmpty(t, before)
	assert.Contains(t, image, c.Registry.Host+"/landscaper:v0.1.0@sha256:")
	c.check()

	load := newLoad(c)
	c.release("v0.2.0")
	load.during(func() { c.upgrade(install, "v0.2.0") })

	assert.Contains(t, c.deployment("landscaper-controller").Spec.Template.Spec.Containers[0].Image, "/landscaper:v0.2.0@sha256:")
	require.NoError(t, c.AwaitReady(c.ctx, shop))
	assert.Equal(t, before, c.jobs(), "an upgrade runs no job")

	c.former("v0.3.0")
	load.during(func() { c.upgrade(install, "v0.3.0") })

	require.NoError(t, c.AwaitReady(c.ctx, shop))
	assert.Equal(t, before, c.jobs(), "nor does the way back")

	load.remove()
	require.NoError(t, c.Client().Delete(c.ctx, shop))
	require.NoError(t, c.AwaitGone(c.ctx, shop))
	for name := range before {
		gone := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: sample.Namespace}}
		require.NoError(t, c.AwaitGone(c.ctx, gone), "Flux deletes and does not wait")
	}
	left := &v1alpha1.DeployItemList{}
	require.NoError(t, c.Client().List(c.ctx, left, client.InNamespace(sample.Namespace)))
	assert.Empty(t, left.Items)
	deployed := c.deployment("landscaper-controller")
	require.NoError(t, c.Client().Delete(c.ctx, install))
	require.NoError(t, c.AwaitGone(c.ctx, install))
	require.NoError(t, c.AwaitGone(c.ctx, deployed))
	crds := &apiextensionsv1.CustomResourceDefinition{}
	assert.NoError(t, c.Client().Get(c.ctx, client.ObjectKey{Name: "installations.landscaper.gardener.cloud"}, crds))
}

// check lets the command line look at the cluster, and at the logs of its Pods.
func (c *cluster) check() {
	c.Helper()
	cli, err := binaries.BuildCLI(c.ctx)
	require.NoError(c, err)
	run := func(args ...string) string {
		out, err := exec.CommandContext(c.ctx, cli, append(args, "--kubeconfig", c.KubeconfigPath)...).CombinedOutput()
		require.NoError(c, err, string(out))
		return string(out)
	}
	out := run("check")
	assert.Contains(c, out, "✔ ls-system/landscaper-controller "+c.Registry.Host)
	assert.Contains(c, out, "✔ deployer helm.deployer.landscaper.gardener.cloud carries out landscaper.gardener.cloud/helm")
	for name := range c.jobs() {
		assert.Contains(c, run("logs", "installation/"+name, "-n", sample.Namespace), " info controller "+name+": job ended Succeeded")
	}
}
