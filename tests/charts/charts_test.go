// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/publishing/image"
	"github.com/flux-landscaper/flux-landscaper/publishing/release"
)

type object = map[string]any

// rendered are the objects of a chart.
type rendered struct {
	*testing.T
	objects []runtime.Object
}

// render renders the chart of a deployer as release "edge" in namespace "fence", and decodes every object strictly.
func render(t *testing.T, deployer string, values object) rendered {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "chart")
	require.NoError(t, release.Chart(folder, deployer, release.Options{
		Source: "../..", Repository: "registry.example.com/landscaper", Release: image.Release{Version: "v1.2.3"},
	}))
	chart, err := loader.LoadDir(folder)
	require.NoError(t, err)
	require.NoError(t, chart.Validate())
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "edge", Namespace: "fence"}, nil)
	require.NoError(t, err)
	files, err := engine.Render(chart, all)
	require.NoError(t, err)
	r := rendered{T: t}
	for name, text := range files {
		for _, document := range strings.Split(text, "\n---\n") {
			if strings.HasSuffix(name, ".tpl") || strings.TrimSpace(document) == "" {
				continue
			}
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil)
			require.NoError(t, err, "%s\n%s", name, document)
			r.objects = append(r.objects, object)
		}
	}
	return r
}

// find returns the objects of a type.
func find[O runtime.Object](r rendered) []O {
	var found []O
	for _, object := range r.objects {
		if typed, ok := object.(O); ok {
			found = append(found, typed)
		}
	}
	return found
}

func (r rendered) deployment() *appsv1.Deployment {
	r.Helper()
	found := find[*appsv1.Deployment](r)
	require.Len(r, found, 1)
	return found[0]
}

// configuration returns the configuration file.
func (r rendered) configuration() object {
	r.Helper()
	for _, secret := range find[*corev1.Secret](r) {
		if text, ok := secret.StringData["config.yaml"]; ok {
			var config object
			require.NoError(r, yaml.Unmarshal([]byte(text), &config))
			return config
		}
	}
	require.Fail(r, "the chart has no configuration")
	return nil
}

func TestEachDeployerHasAChart(t *testing.T) {
	versions := map[string]string{"manifest": "v1alpha2"}
	for _, deployer := range release.Deployers {
		t.Run(deployer, func(t *testing.T) {
			r := render(t, deployer, nil)

			container := r.deployment().Spec.Template.Spec.Containers[0]
			assert.Equal(t, "registry.example.com/landscaper:v1.2.3", container.Image)
			assert.Equal(t, []string{"deployer", deployer}, container.Args[:2])
			version := versions[deployer]
			if version == "" {
				version = "v1alpha1"
			}
			assert.Equal(t, deployer+".deployer.landscaper.gardener.cloud/"+version, r.configuration()["apiVersion"])
			roles := find[*rbacv1.ClusterRole](r)
			require.Len(t, roles, 1, "the DeployItems are in the same cluster")
			assert.NotEmpty(t, roles[0].Rules)
		})
	}
}

func TestADeployerReachesAnotherCluster(t *testing.T) {
	for name, c := range map[string]struct {
		access object
		secret string
		made   bool
	}{
		"by the text of a kubeconfig": {object{"kubeconfig": "apiVersion: v1\n"}, "edge-helm-deployer-landscaper-cluster-kubeconfig", true},
		"by a Secret":                 {object{"secretRef": "access"}, "access", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := render(t, "helm", object{"deployer": object{"landscaperClusterKubeconfig": c.access}})

			pod := r.deployment().Spec.Template.Spec
			assert.Contains(t, pod.Containers[0].Args, "--landscaper-kubeconfig=/etc/landscaper/cluster/kubeconfig")
			var mounted []string
			for _, volume := range pod.Volumes {
				if volume.Secret != nil {
					mounted = append(mounted, volume.Secret.SecretName)
				}
			}
			assert.Contains(t, mounted, c.secret)
			assert.Empty(t, find[*rbacv1.ClusterRole](r), "its rights are those of the kubeconfig")
			made := false
			for _, secret := range find[*corev1.Secret](r) {
				made = made || secret.Name == c.secret
			}
			assert.Equal(t, c.made, made)
		})
	}
}

func TestValuesBecomeTheConfiguration(t *testing.T) {
	selector := []any{object{"annotations": []any{object{"key": "environment", "operator": "=", "values": []any{"edge"}}}}}
	r := render(t, "container", object{"image": object{"tag": "sha256:00"}, "deployer": object{
		"identity": "container-edge", "targetSelector": selector, "environment": "edge", "watchNamespaces": []any{"a", "b"}, "namespace": "pods", "verbosityLevel": "debug",
		"defaultImage": object{"repository": "alpine", "tag": "3"}, "oci": object{"secrets": object{"logins": object{"auths": object{}}}},
	}})

	config := r.configuration()

	assert.Equal(t, "container-edge", config["identity"])
	assert.Equal(t, selector, config["targetSelector"])
	assert.Equal(t, "pods", config["namespace"])
	assert.Equal(t, object{"image": "alpine:3"}, config["defaultImage"])
	assert.Equal(t, object{"configFiles": []any{"/etc/landscaper/registries/logins"}}, config["oci"])
	container := r.deployment().Spec.Template.Spec.Containers[0]
	assert.Equal(t, "registry.example.com/landscaper@sha256:00", container.Image)
	assert.Subset(t, container.Args, []string{"--environment=edge", "--log-level=debug", "--watch-namespaces=a,b"})
	namespaces := map[string]bool{}
	for _, role := range find[*rbacv1.Role](r) {
		namespaces[role.Namespace] = true
	}
	assert.Equal(t, map[string]bool{"": true, "pods": true}, namespaces)
}
