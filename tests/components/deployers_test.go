// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/releases"
)

// A deployer is installed by its component version with the imports that a DeployerRegistration's Installation gets.
func TestDeployersAreComponents(t *testing.T) {
	s := newScene(t)
	program, err := platform.ProgramImage(s.Ctx, "./tests/platform/cmd/pause")
	require.NoError(t, err)
	reference, err := s.Registry.PushImage(s.Ctx, s.base()+"/landscaper", "v1.2.3", program)
	require.NoError(t, err)
	require.NoError(t, releases.PushDeployers(s.Ctx, s.Registry, filepath.Join("..", ".."), t.TempDir(), "v1.2.3", reference, s.base()))
	s.useRegistry(nil)
	s.Target("cluster")

	s.install("registered", of("github.com/gardener/landscaper/manifest-deployer", "1.2.3", "manifest-deployer-blueprint", object{
		"imports": onCluster(),
		"importDataMappings": object{
			"releaseName": "edge", "releaseNamespace": s.Namespace, "identity": "manifest-edge",
			"targetSelectors": list{object{"annotations": list{object{"key": "a", "operator": "exists"}}}},
			"values":          object{"replicaCount": 0, "deployer": object{"identity": "of the values"}},
		},
	}))

	s.succeeded("registered")
	key := client.ObjectKey{Namespace: s.Namespace, Name: "edge-manifest-deployer"}
	deployment, config := &appsv1.Deployment{}, &corev1.Secret{}
	require.NoError(t, s.Client().Get(s.Ctx, key, deployment))
	assert.Equal(t, reference, deployment.Spec.Template.Spec.Containers[0].Image)
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: key.Name + "-config"}, config))
	assert.Contains(t, string(config.Data["config.yaml"]), "identity: manifest-edge")
	assert.Contains(t, string(config.Data["config.yaml"]), "operator: exists")
}
