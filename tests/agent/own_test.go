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
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// The landscaper cluster is an Environment, too, by a commit and without a token of anybody.
func TestTheLandscaperClusterHasAnEnvironmentOfItsOwn(t *testing.T) {
	s := newScene(t, "own")
	s.apply(s.Cluster, "flux/own-environment")
	s.fence, s.inside = s.Platform, ownNamespace
	s.startController("--deployer-management")

	agent := s.start("own-agent", s.account, s.ownArgs()...)

	agent.awaitReady()
	s.awaitEnvironment(isConnected)
	s.managed()
	config := strings.Replace(settings(t, "own-settings", "done"), "namespace: "+system, "namespace: "+ownNamespace, 1)
	s.install(s.home(), "own-settings", "landscaper.gardener.cloud/helm", config, map[string]string{"cluster": "own"})
	s.succeeded(s.home(), "own-settings")
	made := &corev1.ConfigMap{}
	require.NoError(t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: ownNamespace, Name: "own-settings"}, made))
	assert.Equal(t, "done", made.Data["text"])
	for account, namespace := range map[string]string{"deployer-own": ownNamespace, s.account: ownNamespace} {
		for verb, resource := range map[string]string{"create": "pods", "get": "secrets"} {
			assert.False(t, s.mayIn(s.Cluster, namespace, account, authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Namespace: system}),
				"%s: %s %s beside the controller", account, verb, resource)
		}
	}
}
