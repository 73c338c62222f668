// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/publishing/containerimage"
	"github.com/flux-landscaper/flux-landscaper/publishing/release"
)

// ownNamespace is the namespace of flux/own-environment for the deployers of the landscaper cluster itself.
const ownNamespace = "ls-deployers"

// ownArgs are the arguments of the agent of flux/own-environment, with the files that its Pod has.
func (s *scene) ownArgs() []string {
	s.t.Helper()
	const mounted = "/var/run/secrets/kubernetes.io/serviceaccount"
	read := func(name, key string) string {
		config := &corev1.ConfigMap{}
		require.NoError(s.t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: ownNamespace, Name: name + s.environment}, config))
		require.Contains(s.t, config.Data, key)
		return config.Data[key]
	}
	way := strings.NewReplacer("https://kubernetes.default.svc", s.RestConfig.Host, mounted, s.dir).Replace(read("landscaper-agent-kubeconfig-", "kubeconfig"))
	for name, content := range map[string]string{
		"ca.crt": string(s.RestConfig.CAData), "token": s.tokenOf(s.Cluster, ownNamespace, s.account), "kubeconfig": way,
		"config.yaml": read("landscaper-agent-", "config.yaml"),
	} {
		require.NoError(s.t, os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600))
	}
	return []string{"agent", "--config=" + filepath.Join(s.dir, "config.yaml"), "--landscaper-kubeconfig=" + filepath.Join(s.dir, "kubeconfig")}
}

// applyChart applies what the chart landscaper makes of its value deployerManagement.agent.
func (s *scene) applyChart() {
	s.t.Helper()
	folder := filepath.Join(s.t.TempDir(), "chart")
	require.NoError(s.t, release.Chart(folder, release.LandscaperChart, release.Options{
		Source: filepath.Join("..", "..", ".."), Repository: "registry.example.com/landscaper", Release: containerimage.Release{Version: "v1.2.3"},
	}))
	chart, err := loader.LoadDir(folder)
	require.NoError(s.t, err)
	values, err := chartutil.ReadValues([]byte("landscaper: {landscaper: {deployerManagement: {disable: false, agent: {name: " + s.environment + "}}}}"))
	require.NoError(s.t, err)
	require.NoError(s.t, chartutil.ProcessDependenciesWithMerge(chart, values))
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "landscaper", Namespace: system}, nil)
	require.NoError(s.t, err)
	texts, err := engine.Render(chart, all)
	require.NoError(s.t, err)
	const ofAgent = "landscaper/charts/landscaper/templates/agent.yaml"
	require.Contains(s.t, texts, ofAgent)
	require.NoError(s.t, s.ApplyYAML(s.ctx, texts[ofAgent]))
}

// The landscaper cluster is an Environment, too, by a commit or a value, and without a token of anybody.
func TestTheLandscaperClusterHasAnEnvironmentOfItsOwn(t *testing.T) {
	t.Run("by a commit", func(t *testing.T) {
		s := newScene(t, "own")
		s.apply(s.Cluster, "flux/own-environment")
		s.requireOwnEnvironment()
	})
	t.Run("by a value", func(t *testing.T) {
		s := newScene(t, "own-by-chart")
		s.applyChart()
		s.requireOwnEnvironment()
	})
}

// requireOwnEnvironment starts the agent that is applied, and has it install a deployer.
func (s *scene) requireOwnEnvironment() {
	t := s.t
	t.Helper()
	s.fence, s.inside = s.Platform, ownNamespace
	s.startController("--deployer-management")

	agent := s.start(s.environment+"-agent", s.account, s.ownArgs()...)

	agent.awaitReady()
	s.awaitEnvironment(isConnected)
	s.managed()
	name := s.environment + "-settings"
	config := strings.Replace(settings(t, name, "done"), "namespace: "+system, "namespace: "+ownNamespace, 1)
	s.install(s.home(), name, "landscaper.gardener.cloud/helm", config, map[string]string{"cluster": s.environment})
	s.succeeded(s.home(), name)
	made := &corev1.ConfigMap{}
	require.NoError(t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: ownNamespace, Name: name}, made))
	assert.Equal(t, "done", made.Data["text"])
	for account, namespace := range map[string]string{"deployer-" + s.environment: ownNamespace, s.account: ownNamespace} {
		for verb, resource := range map[string]string{"create": "pods", "get": "secrets"} {
			assert.False(t, s.mayIn(s.Cluster, namespace, account, authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Namespace: system}),
				"%s: %s %s beside the controller", account, verb, resource)
		}
	}
}
