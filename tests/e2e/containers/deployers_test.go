// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"encoding/base64"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/e2e/releases"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// deployedBy are the types of deployers, with the configuration of an item that makes the ConfigMap "deployed"; the mock deployer makes nothing.
var deployedBy = map[string]struct {
	kind   string
	config func(s *scene) object
}{
	"helm": {v1alpha1.HelmDeployItemType, func(s *scene) object {
		chart, err := servers.PackageChart(fstest.MapFS{
			"Chart.yaml":            {Data: []byte("apiVersion: v2\nname: deployed\nversion: 1.0.0\n")},
			"templates/config.yaml": {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deployed}\n")},
		})
		require.NoError(s.T, err)
		return object{
			"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
			"name": "deployed", "namespace": s.Namespace, "chart": object{"archive": object{"raw": base64.StdEncoding.EncodeToString(chart)}},
		}
	}},
	"manifest": {v1alpha1.ManifestDeployItemType, func(s *scene) object {
		return object{
			"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderConfiguration",
			"manifests": list{object{"policy": "manage", "manifest": object{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "deployed", "namespace": s.Namespace},
			}}},
		}
	}},
	"container": {v1alpha1.ContainerDeployItemType, func(s *scene) object {
		return object{
			"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
			"image": s.shell(), "command": list{"sh", "-c", `echo '{"done": "deployed"}' >"$EXPORTS_PATH"`},
		}
	}},
	"mock": {v1alpha1.MockDeployItemType, func(*scene) object {
		return object{
			"apiVersion": "mock.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration", "export": object{"done": "deployed"},
		}
	}},
}

// released publishes a release of this checkout and the component versions of its deployers into the component repository "deployers" of the scene.
func (s *scene) released(version string) {
	s.T.Helper()
	source := filepath.Join("..", "..", "..")
	program, err := binaries.BuildStatic(s.Ctx, "./cmd/landscaper")
	require.NoError(s.T, err)
	require.NoError(s.T, releases.Push(s.Ctx, s.Registry, program, source, s.T.TempDir(), version))
	image := s.Registry.Host + "/landscaper:" + version
	require.NoError(s.T, releases.PushComponents(s.Ctx, s.Registry, source, s.T.TempDir(), version, image, s.Namespace+"/deployers"))
}

// A deployer that is installed from its component version serves the Targets that its selectors name, and no other deployer does.
func TestB1105ToB1108ADeployerOfItsComponentServesItsTargets(t *testing.T) {
	for name, deployer := range deployedBy {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.released("v0.1.0")
			s.Put("Context", "default", object{"repositoryContext": s.repository("deployers")})
			s.Target("cluster")
			s.Put("Target", "edge", object{
				"metadata": object{"annotations": object{v1alpha1.EnvironmentAnnotation: s.Namespace}},
				"spec":     object{"type": v1alpha1.KubernetesClusterTargetType, "config": object{"kubeconfig": s.DeployerAccess()}},
			})
			item := s.itemOf(deployer.kind, "item", object{"name": "edge", "namespace": s.Namespace}, deployer.config(s))

			s.Put("Installation", "deployer", object{"spec": object{
				"componentDescriptor": object{"ref": object{"componentName": "github.com/gardener/landscaper/" + name + "-deployer", "version": "0.1.0"}},
				"blueprint":           object{"ref": object{"resourceName": name + "-deployer-blueprint"}},
				"imports":             object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
				"importDataMappings": object{
					"releaseName": "edge", "releaseNamespace": s.Namespace, "identity": s.Namespace, "watchNamespaces": list{s.Namespace},
					"targetSelectors": list{object{"annotations": list{object{"key": v1alpha1.EnvironmentAnnotation, "operator": "=", "values": list{s.Namespace}}}}},
				},
			}, "metadata": object{"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}}})
			s.Succeeded("deployer")

			s.ended(item)
			require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase, "%+v", item.Status.LastError)
			require.NotNil(t, item.Status.Deployer)
			assert.Equal(t, s.Namespace, item.Status.Deployer.Identity)
			if item.Status.ExportReference != nil {
				assert.Equal(t, object{"done": "deployed"}, s.exported(item))
				return
			}
			made := &corev1.ConfigMap{}
			assert.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: "deployed"}, made))
		})
	}
}
