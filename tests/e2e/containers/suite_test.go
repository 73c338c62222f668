// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

func TestMain(m *testing.M) {
	landscape.LeaveEnvironments()
	os.Exit(landscape.Main(m, platform.Options{Node: true, Registry: true}))
}

// object and list are JSON.
type (
	object = map[string]any
	list   = []any
)

// scene adds to the scene what these tests need.
type scene struct{ *landscape.Scene }

func newScene(t *testing.T) *scene {
	t.Helper()
	t.Parallel()
	return &scene{landscape.NewScene(t)}
}

// shell pushes the image with a shell and returns its reference.
func (s *scene) shell() string {
	s.T.Helper()
	image, err := platform.ShellImage()
	require.NoError(s.T, err)
	reference, err := s.Registry.PushImage(s.Ctx, "shell", "1", image)
	require.NoError(s.T, err)
	return reference
}

// program pushes an image with nothing but a user's program and returns its reference.
func (s *scene) program() string {
	s.T.Helper()
	image, err := platform.ProgramImage(s.Ctx, "./tests/e2e/containers/cmd/deploys")
	require.NoError(s.T, err)
	reference, err := s.Registry.PushImage(s.Ctx, "deploys", "1", image)
	require.NoError(s.T, err)
	return reference
}

// repository is a component repository of the scene, inside the registry, as Contexts name it.
func (s *scene) repository(name string) object {
	return object{"type": "OCIRegistry", "baseUrl": s.Registry.Host, "subPath": s.Namespace + "/" + name}
}

// publish pushes component versions into a repository of the scene, as a user does: files are a constructor with what belongs to it.
func (s *scene) publish(repository string, files map[string]string) {
	s.T.Helper()
	dir := s.T.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		require.NoError(s.T, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(s.T, os.WriteFile(path, []byte(content), 0o644))
	}
	binary, err := binaries.BuildCLI(s.Ctx)
	require.NoError(s.T, err)
	to := "oci://" + s.Registry.Host + "/" + s.Namespace + "/" + repository
	push := exec.CommandContext(s.Ctx, binary, "component", "push", "--file", "component-constructor.yaml", "--repository", to)
	push.Dir = dir
	said, err := push.CombinedOutput()
	require.NoError(s.T, err, string(said))
}

// job is the spec of an Installation of the component with the blueprint of a container.
func job(more object) object {
	spec := object{
		"componentDescriptor": object{"ref": object{"componentName": "example.com/job", "version": "1.0.0"}},
		"blueprint":           object{"ref": object{"resourceName": "blueprint"}},
	}
	for key, value := range more {
		spec[key] = value
	}
	return spec
}

// constructor is a component with a blueprint in a folder beside it, and an image.
func constructor(image string) string {
	return `components:
- name: example.com/job
  version: 1.0.0
  provider: {name: example.com}
  resources:
  - name: blueprint
    type: landscaper.gardener.cloud/blueprint
    input: {type: dir, path: ./blueprint, compress: true, mediaType: application/vnd.gardener.landscaper.blueprint.v1+tar+gzip}
  - name: image
    type: ociImage
    version: 1.0.0
    access: {type: ociArtifact, imageReference: "` + image + `"}
`
}

// containerItem is the template of deploy items with one container, which finds the blueprint and the component that it comes from.
func containerItem(fields string) string {
	return `deployItems:
- name: job
  type: landscaper.gardener.cloud/container
  {{- if .imports.cluster }}
  target: {import: cluster}
  {{- end }}
  config:
    apiVersion: container.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    image: {{ (getResource .cd "name" "image").access.imageReference }}
    blueprint: {{ toJson .blueprint }}
    componentDescriptor: {{ toJson .componentDescriptorDef }}
    ` + fields + "\n"
}

// install publishes a component with a container and applies an Installation of it.
func (s *scene) install(image, blueprint, item string, content map[string]string, spec object) {
	s.T.Helper()
	files := map[string]string{
		"component-constructor.yaml": constructor(image), "blueprint/blueprint.yaml": blueprint, "blueprint/deploy.yaml": containerItem(item),
	}
	for name, text := range content {
		files["blueprint/"+name] = text
	}
	s.publish("components", files)
	s.Put("Context", "default", object{"repositoryContext": s.repository("components")})
	s.Put("Installation", "job", object{
		"metadata": object{"annotations": object{v1alpha1.ReconcileIfChangedAnnotation: "true"}}, "spec": job(spec),
	})
}

// item applies a container item with a job of its own, outside any Installation. target may be nil.
func (s *scene) item(name, image string, target object, command ...string) *v1alpha1.DeployItem {
	s.T.Helper()
	return s.itemOf(v1alpha1.ContainerDeployItemType, name, target, object{
		"apiVersion": "container.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"image": image, "command": command,
	})
}

// itemOf applies an item of a type with a job of its own, outside any Installation. target may be nil.
func (s *scene) itemOf(kind, name string, target, config object) *v1alpha1.DeployItem {
	s.T.Helper()
	spec := object{"type": kind, "config": config}
	if target != nil {
		spec["target"] = target
	}
	s.Put("DeployItem", name, object{
		"metadata": object{"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationTestReconcile}}, "spec": spec,
	})
	return &v1alpha1.DeployItem{ObjectMeta: s.Named(name)}
}

func (s *scene) await(object client.Object, done func() bool) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, landscape.Patience)
	defer cancel()
	require.NoError(s.T, s.Await(ctx, object, done))
}

// ended waits until the job of an item has ended.
func (s *scene) ended(item *v1alpha1.DeployItem) *v1alpha1.DeployItem {
	s.T.Helper()
	s.await(item, func() bool { return item.Status.JobID != "" && item.Status.JobID == item.Status.JobIDFinished })
	return item
}

// exported returns what an item has exported when its job has ended well.
func (s *scene) exported(item *v1alpha1.DeployItem) object {
	s.T.Helper()
	s.ended(item)
	require.Equal(s.T, v1alpha1.PhaseSucceeded, item.Status.Phase, "%+v", item.Status.LastError)
	require.NotNil(s.T, item.Status.ExportReference)
	secret := &corev1.Secret{ObjectMeta: s.Named(item.Status.ExportReference.Name)}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(secret), secret))
	exports := object{}
	require.NoError(s.T, json.Unmarshal(secret.Data["config"], &exports))
	return exports
}
