// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// samples is the folder of the samples of components. They explain ideas and cannot be run.
const samples = "examples/components/"

// sampleInstallation is the Installation of a file, which asks for a job.
func sampleInstallation(t *testing.T, path string) string {
	t.Helper()
	objects, err := documents(fill(t, samples+path, nil))
	require.NoError(t, err)
	objects[0].SetAnnotations(map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile})
	raw, err := json.Marshal(objects[0])
	require.NoError(t, err)
	return string(raw)
}

// sampleBlueprint is an Installation of a blueprint that lies in a folder.
func sampleBlueprint(t *testing.T, path string) string {
	t.Helper()
	root := filepath.Join(landscape.Corpus(t), samples, path)
	files := map[string]any{}
	require.NoError(t, fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		folders := strings.Split(name, "/")
		return unstructured.SetNestedField(files, fill(t, samples+path+"/"+name, nil), folders...)
	}))
	return sampleWith(t, path, map[string]any{"inline": map[string]any{"filesystem": files}}, nil)
}

// sampleComponent is an Installation of the blueprint that a component descriptor has as a resource.
func sampleComponent(t *testing.T, path string) string {
	t.Helper()
	var descriptor any
	require.NoError(t, yaml.Unmarshal([]byte(fill(t, samples+path, nil)), &descriptor))
	return sampleWith(t, path, map[string]any{"ref": map[string]any{"resourceName": "blueprint"}}, map[string]any{"inline": descriptor})
}

func sampleWith(t *testing.T, path string, blueprint, component map[string]any) string {
	t.Helper()
	spec := map[string]any{"blueprint": blueprint}
	if component != nil {
		spec["componentDescriptor"] = component
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Installation", "spec": spec,
		"metadata": map[string]any{"name": sampleName(path), "annotations": map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}},
	})
	require.NoError(t, err)
	return string(raw)
}

// sampleName is the name of the Installation that is made of a path.
func sampleName(path string) string {
	return strings.ReplaceAll(strings.TrimSuffix(path, ".yaml"), "/", "-")
}

func TestD08SamplesOfComponentsSayWhyTheyCannotRun(t *testing.T) {
	t.Parallel()
	for path, says := range map[string]string{
		"00-installations/configuration.yaml":           `target export is not defined: "providers"; export it in the blueprint`,
		"00-installations/external-dns-management.yaml": "spec.blueprint: Forbidden: give exactly one of inline, ref and sourceRef",
		"00-installations/nginx-ingress.yaml":           "spec.blueprint: Forbidden: give exactly one of inline, ref and sourceRef",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			text := sampleInstallation(t, path)
			s.apply(text)
			objects, err := documents(text)
			require.NoError(t, err)
			s.requireSampleFails(objects[0].GetName(), says)
		})
	}
	t.Run("blueprints and components", func(t *testing.T) {
		t.Parallel()
		s := newScene(t)
		for path, says := range map[string]string{
			"aggregated/blueprint":              `the blueprint needs import "aws-dev-account-credentials" of type data; add it to the imports of the installation`,
			"external-dns-management/blueprint": `the blueprint needs import "namespace" of type data`,
			"nginx-ingress/blueprint":           `the blueprint needs import "namespace" of type data`,
		} {
			s.apply(sampleBlueprint(t, path))
			s.requireSampleFails(sampleName(path), says)
		}
		for path, says := range map[string]string{
			"aws-schemas/cd.yaml": `component github.com/gardener/aws-schemas:v1 has no resource with name "blueprint"; it has: schemas`,
			"nginx-ingress/cd.yaml": `resource "blueprint" of component github.com/gardener/nginx-ingress:v0.1.0: access: ` +
				`access of type "github" has no repoUrl; set it`,
		} {
			s.apply(sampleComponent(t, path))
			s.requireSampleFails(sampleName(path), says)
		}
	})
}

func (s *scene) requireSampleFails(name, says string) {
	s.T.Helper()
	failed := s.Failed(name)
	require.Contains(s.T, failed.Message, says)
	require.Contains(s.T, failed.Codes, v1alpha1.ErrorConfigurationProblem)
}

// TestD08ComponentsOfTheSamplesNameWhatIsMissing has samples of components that refer to others.
func TestD08ComponentsOfTheSamplesNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	missing := map[string]string{
		"aggregated/cd.yaml":                      "github.com/gardener/aggregated:v0.1.0 → github.com/gardener/",
		"external-dns-management/cd.yaml":         "github.com/gardener/external-dns-management-schemas",
		"external-dns-management-schemas/cd.yaml": "github.com/gardener/aws-schemas",
	}
	for path := range missing {
		s.apply(strings.ReplaceAll(sampleComponent(t, path), "eu.gcr.io", s.Registry.Host))
	}
	for path, says := range missing {
		s.AwaitState(sampleName(path), func(inst *v1alpha1.Installation) bool {
			return strings.Contains(conditions.GetMessage(inst, meta.ReadyCondition), says)
		})
	}
}
