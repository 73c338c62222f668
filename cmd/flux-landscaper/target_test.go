// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	kubeconfigText = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://production.example.com"}}]
users: [{name: u, user: {token: secret-token}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`
	withCommand = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://production.example.com"}}]
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: login}}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`
)

// TestA02TargetOfAKubeconfig prints the manifest of a Target, which is applied as any other.
func TestA02TargetOfAKubeconfig(t *testing.T) {
	p := start(t)
	p.write("kubeconfig", kubeconfigText, "command", withCommand, "text", "nothing: [")
	create := []string{"target", "create", "kubernetes-cluster", "--name", "production", "-n", "team", "--target-kubeconfig"}
	assert.Equal(t, `---
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata:
  name: production
  namespace: team
spec:
  config:
    kubeconfig: |
      apiVersion: v1
      kind: Config
      clusters: [{name: c, cluster: {server: "https://production.example.com"}}]
      users: [{name: u, user: {token: secret-token}}]
      contexts: [{name: x, context: {cluster: c, user: u}}]
      current-context: x
  type: landscaper.gardener.cloud/kubernetes-cluster
`, p.must(append(create, "kubeconfig")...))

	assert.Empty(t, p.must(append(create, "kubeconfig", "-s", "access", "-o", "target.yaml")...))
	written, err := os.ReadFile(filepath.Join(p.home, "target.yaml"))
	require.NoError(t, err)
	assert.Contains(t, string(written), "kind: Secret\nmetadata:\n  name: access\n  namespace: team\nstringData:\n  config: |")
	assert.Contains(t, string(written), "  secretRef:\n    key: config\n    name: access\n")
	info, err := os.Stat(filepath.Join(p.home, "target.yaml"))
	require.NoError(t, err)
	assert.EqualValues(t, 0o600, info.Mode().Perm())

	assert.Contains(t, p.fail(append(create, "command")...), "users[u].user.exec")
	assert.Contains(t, p.fail(append(create, "command")...), "kubectl config view --minify")
	assert.Contains(t, p.fail(append(create, "text")...), "--target-kubeconfig: text: ")
	assert.Contains(t, p.fail(append(create, "none")...), "--target-kubeconfig: stat none")
}
