// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package components checks what Installations do with component versions: blueprints, resources, schemas and sub-installations from a
// registry, written in place or from a Flux source; overwrites and signatures. Tests are named for their row of the acceptance matrix where
// one exists.
package components

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

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

func (s *scene) succeeded(name string) *v1alpha1.Installation { return s.Succeeded(name) }

func (s *scene) failed(name string) *v1alpha1.Error { return s.Failed(name) }

func (s *scene) value(name string) string { return s.Value(name) }

func (s *scene) config(name string) map[string]string { return s.Config(name) }

// secret makes a Secret.
func (s *scene) secret(name string, data map[string]string) {
	s.T.Helper()
	secret := &corev1.Secret{ObjectMeta: s.Named(name), StringData: data}
	require.NoError(s.T, s.Client().Create(s.Ctx, secret))
}

var (
	document   = landscape.Blueprint
	goTemplate = landscape.GoTemplate
)

// clusterImport declares the Target import "cluster".
func clusterImport() object {
	return object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}
}

// configTemplate deploys a ConfigMap into the namespace of the scene; data is a template of YAML lines.
func configTemplate(namespace, name string, data ...string) string {
	return "deployItems:\n" + landscape.ConfigItem("config", "{import: cluster}", namespace, name, data...)
}

// mockTemplate makes a mock item that exports a map, written as YAML flow.
func mockTemplate(export string) string {
	return "deployItems:\n" + landscape.MockItem("item", "export: "+export)
}
