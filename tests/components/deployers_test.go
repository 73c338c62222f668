// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/e2e/releases"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
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

// TestTheBlueprintOfDeployersPrintsJSON keeps what an agent writes from adding lines to what the blueprint prints.
func TestTheBlueprintOfDeployersPrintsJSON(t *testing.T) {
	template, err := os.ReadFile(filepath.Join("..", "..", "charts", "components", "blueprint", "deploy.yaml"))
	require.NoError(t, err)
	printed := regexp.MustCompile(`\{\{-? *\.imports[^}]*\}\}`).FindAllString(string(template), -1)
	require.Len(t, printed, 2)
	for _, action := range printed {
		assert.Contains(t, action, "| toJson }}")
	}
}

// TestDeployersAreComponents installs what one release publishes.
func TestDeployersAreComponents(t *testing.T) {
	s := newScene(t)
	reference := s.released("v1.2.3")
	s.useRegistry(nil)
	s.Target("cluster")
	s.requireADeployerIsAComponent(reference)
	s.requireFencedDeployersReportToTheFluxBesideThem()
	s.requireLandscaperIsAComponent()
}

// A deployer is installed by its component version with the imports that a DeployerRegistration's Installation gets.
func (s *scene) requireADeployerIsAComponent(reference string) {
	t := s.T
	t.Helper()
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

// Behind a fence a deployer sends its events to the Flux there, where its values name no other receiver.
func (s *scene) requireFencedDeployersReportToTheFluxBesideThem() {
	t := s.T
	t.Helper()
	const own = "http://notification-controller.flux-system.svc.cluster.local./"
	s.Target("fence")
	fence := &v1alpha1.Target{ObjectMeta: s.Named("fence")}
	require.NoError(t, s.Client().Patch(s.Ctx, fence, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1alpha1.EnvironmentAnnotation+`":"edge"}}}`))))
	for name, c := range map[string]struct {
		target string
		values object
		wants  []string
	}{
		"central":  {"cluster", object{}, nil},
		"fenced":   {"fence", object{}, []string{"--events-addr=" + own}},
		"received": {"fence", object{"eventsAddr": "http://events"}, []string{"--events-addr=http://events"}},
		"silent":   {"fence", object{"eventsAddr": ""}, nil},
	} {
		s.install(name, of("github.com/gardener/landscaper/mock-deployer", "1.2.3", "mock-deployer-blueprint", object{
			"imports": object{"targets": list{object{"name": "cluster", "target": c.target}}},
			"importDataMappings": object{
				"releaseName": name, "releaseNamespace": s.Namespace, "values": object{"replicaCount": 0, "deployer": c.values},
			},
		}))
		s.succeeded(name)
		deployment := &appsv1.Deployment{}
		require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name + "-mock-deployer"}, deployment))
		var sends []string
		for _, argument := range deployment.Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(argument, "--events-addr") {
				sends = append(sends, argument)
			}
		}
		assert.Equal(t, c.wants, sends, name)
	}
}

// Its chart is installed as part of another component, with CRDs that are there already.
func (s *scene) requireLandscaperIsAComponent() {
	t := s.T
	t.Helper()
	item := s.noteItem("main", `{"resource": {"name": "landscaper-chart"}, "referencePath": [{"name": "landscaper"}]}`) + `    values:
      landscaper:
        controller: {replicaCount: 0}
        webhooksServer: {replicaCount: 0}
        landscaper: {deployerManagement: {disable: false}, registryConfig: {secrets: {logins: {auths: {}}}}}
`
	s.publish(build("example.com/platform", "1.0.0").refers("landscaper", "github.com/gardener/landscaper", "1.2.3", nil).blueprint("blueprint", object{
		"imports": list{clusterImport()}, "deployExecutions": goTemplate("deployItems:\n" + item),
	}, nil))

	s.install("platform", of("example.com/platform", "1.0.0", "blueprint", object{"imports": onCluster()}))

	s.succeeded("platform")
	for _, name := range []string{"main-landscaper", "main-landscaper-webhooks"} {
		require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, &appsv1.Deployment{}))
	}
	binding := &rbacv1.ClusterRoleBinding{}
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKey{Name: "landscaper:controller"}, binding))
	assert.Equal(t, []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.Namespace, Name: "landscaper"}}, binding.Subjects)
}
