// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package components checks what Installations do with component versions: blueprints, resources, schemas and sub-installations from a
// registry, written in place or from a Flux source; overwrites and signatures. Tests are named for their row of the acceptance matrix where
// one exists.
package components

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	os.Exit(landscape.Main(m, platform.Options{Flux: true, Git: true, Registry: true}))
}

// object and list are JSON.
type (
	object = map[string]any
	list   = []any
)

// tick is how often to look where nothing can be watched.
const tick = 50 * time.Millisecond

// scene adds to the scene what these tests need.
type scene struct{ *landscape.Scene }

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	return &scene{landscape.NewScene(t)}
}

// base is the component repository of the scene, inside the registry.
func (s *scene) base() string { return s.Namespace + "/components" }

// repository is the component repository as Contexts name it.
func (s *scene) repository() object {
	return object{"type": "OCIRegistry", "baseUrl": s.Registry.Host, "subPath": s.base()}
}

// useRegistry makes the default Context with the component repository of the scene; more are further fields.
func (s *scene) useRegistry(more object) {
	s.T.Helper()
	fields := object{"repositoryContext": s.repository()}
	for key, value := range more {
		fields[key] = value
	}
	s.Put("Context", "default", fields)
}

// install applies an Installation that runs at every change.
func (s *scene) install(name string, spec object) {
	s.T.Helper()
	s.Put("Installation", name, object{
		"metadata": object{"annotations": object{v1alpha1.ReconcileIfChangedAnnotation: "true"}}, "spec": spec,
	})
}

// of is the spec of an Installation of a component and one of its blueprints; more are further fields.
func of(name, version, blueprint string, more object) object {
	spec := object{
		"componentDescriptor": object{"ref": object{"componentName": name, "version": version}},
		"blueprint":           object{"ref": object{"resourceName": blueprint}},
	}
	for key, value := range more {
		spec[key] = value
	}
	return spec
}

// onCluster imports the Target "cluster".
func onCluster() object {
	return object{"targets": list{object{"name": "cluster", "target": "cluster"}}}
}

// succeeded waits until an Installation has succeeded with its newest spec.
func (s *scene) succeeded(name string) *v1alpha1.Installation {
	s.T.Helper()
	return s.Ended(name, v1alpha1.PhaseSucceeded)
}

// failed waits until an Installation has failed and returns why.
func (s *scene) failed(name string) *v1alpha1.Error {
	s.T.Helper()
	inst := s.Ended(name, v1alpha1.PhaseFailed)
	require.NotNil(s.T, inst.Status.LastError)
	return inst.Status.LastError
}

// value returns the content of a DataObject as JSON.
func (s *scene) value(name string) string {
	s.T.Helper()
	data := &v1alpha1.DataObject{}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, data))
	return string(data.Data.RawMessage)
}

// config returns the content of a ConfigMap that was deployed.
func (s *scene) config(name string) map[string]string {
	s.T.Helper()
	config := &corev1.ConfigMap{}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: name}, config))
	return config.Data
}

// secret makes a Secret.
func (s *scene) secret(name string, data map[string]string) {
	s.T.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.Namespace}, StringData: data}
	require.NoError(s.T, s.Client().Create(s.Ctx, secret))
}

// document writes a blueprint.yaml: JSON is YAML.
func document(parts object) string {
	blueprint := object{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint"}
	for key, value := range parts {
		blueprint[key] = value
	}
	raw, err := json.Marshal(blueprint)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// goTemplate is a list with one executor.
func goTemplate(text string) list {
	return list{object{"name": "default", "type": "GoTemplate", "template": text}}
}

// clusterImport declares the Target import "cluster".
func clusterImport() object {
	return object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}
}

// configTemplate deploys a ConfigMap into the namespace of the scene; data is a template of indented YAML lines.
func configTemplate(namespace, name string, data ...string) string {
	return `deployItems:
- name: config
  type: landscaper.gardener.cloud/kubernetes-manifest
  target: {import: cluster}
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    kind: ProviderConfiguration
    updateStrategy: update
    manifests:
    - policy: manage
      manifest:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: ` + name + `, namespace: ` + namespace + `}
        data:
          ` + strings.Join(data, "\n          ") + "\n"
}

// mockTemplate makes a mock item that exports a map, written as YAML flow.
func mockTemplate(export string) string {
	return `deployItems:
- name: item
  type: landscaper.gardener.cloud/mock
  config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, export: ` + export + "}\n"
}
