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
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/releases"
)

// released publishes the component versions of a release, and returns the reference of its image.
func (s *scene) released(version string) string {
	s.T.Helper()
	program, err := platform.ProgramImage(s.Ctx, "./tests/platform/cmd/pause")
	require.NoError(s.T, err)
	reference, err := s.Registry.PushImage(s.Ctx, s.base()+"/landscaper", version, program)
	require.NoError(s.T, err)
	require.NoError(s.T, releases.PushComponents(s.Ctx, s.Registry, filepath.Join("..", ".."), s.T.TempDir(), version, reference, s.base()))
	return reference
}

// A deployer is installed by its component version with the imports that a DeployerRegistration's Installation gets.
func TestDeployersAreComponents(t *testing.T) {
	s := newScene(t)
	reference := s.released("v1.2.3")
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

// Its chart is installed as part of another component, with CRDs that are there already.
func TestLandscaperIsAComponent(t *testing.T) {
	s := newScene(t)
	s.released("v1.2.3")
	item := s.noteItem("main", `{"resource": {"name": "landscaper-chart"}, "referencePath": [{"name": "landscaper"}]}`) + `    values:
      landscaper:
        controller: {replicaCount: 0}
        webhooksServer: {replicaCount: 0}
        landscaper: {deployerManagement: {disable: false}, registryConfig: {secrets: {logins: {auths: {}}}}}
`
	s.publish(build("example.com/platform", "1.0.0").refers("landscaper", "github.com/gardener/landscaper", "1.2.3", nil).blueprint("blueprint", object{
		"imports": list{clusterImport()}, "deployExecutions": goTemplate("deployItems:\n" + item),
	}, nil))
	s.useRegistry(nil)
	s.Target("cluster")

	s.install("platform", of("example.com/platform", "1.0.0", "blueprint", object{"imports": onCluster()}))

	s.succeeded("platform")
	for _, name := range []string{"main-landscaper", "main-landscaper-webhooks"} {
		require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &appsv1.Deployment{}))
	}
	binding := &rbacv1.ClusterRoleBinding{}
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Name: "landscaper:controller"}, binding))
	assert.Equal(t, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "landscaper"}}, binding.Subjects)
}
