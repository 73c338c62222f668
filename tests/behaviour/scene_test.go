// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// scene adds to the scene what these tests need.
type scene struct{ *landscape.Scene }

func newScene(t *testing.T) *scene {
	t.Helper()
	return &scene{landscape.NewScene(t)}
}

// apply applies manifests server-side, in the namespace of the scene unless they say otherwise.
func (s *scene) apply(manifests ...string) {
	s.T.Helper()
	for _, manifest := range manifests {
		objects, err := documents(manifest)
		require.NoError(s.T, err, manifest)
		for _, object := range objects {
			if object.GetNamespace() == "" {
				object.SetNamespace(s.Namespace)
			}
			require.NoError(s.T, s.Apply(s.Ctx, object))
		}
	}
}

// leaf is an Installation that deploys one ConfigMap of its name with one value.
type leaf struct {
	name, value string
	annotations map[string]string
	// target is the Target that it imports, "cluster" when empty. Blueprint replaces the inline blueprint, spec is added to the spec.
	target, blueprint, spec string
}

// follows are the annotations of an Installation that runs at every change.
func follows() map[string]string {
	return map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"}
}

func (l leaf) String() string {
	blueprint := l.blueprint
	if blueprint == "" {
		blueprint = "inline: {filesystem: {blueprint.yaml: " + quote(configBlueprint(l.name, l.value)) + "}}"
	}
	target := l.target
	if target == "" {
		target = "cluster"
	}
	annotations := ""
	for name, value := range l.annotations {
		annotations += fmt.Sprintf("    %s: %q\n", name, value)
	}
	if annotations != "" {
		annotations = "  annotations:\n" + annotations
	}
	return "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Installation\nmetadata:\n  name: " + l.name + "\n" + annotations +
		"spec:\n  blueprint:\n    " + blueprint + "\n  imports: {targets: [{name: cluster, target: " + target + "}]}\n" + l.spec
}

// quote writes a text as one YAML scalar.
func quote(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// configBlueprint is a blueprint that deploys one ConfigMap into the namespace of the Installation.
func configBlueprint(name, value string) string {
	return blueprintOf("deployItems:\n" + manifestItem("config", name, value))
}

// blueprintOf is a blueprint with a target import and one deploy execution.
func blueprintOf(template string) string {
	return landscape.Blueprint(map[string]any{
		"jsonSchema":       "https://json-schema.org/draft/2019-09/schema",
		"imports":          []any{map[string]any{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}},
		"deployExecutions": landscape.GoTemplate(template),
	})
}

// manifestItem is a deploy item that deploys one ConfigMap beside the Target.
func manifestItem(item, name, value string) string {
	return landscape.ConfigItem(item, "{import: cluster}", "{{ .imports.cluster.metadata.namespace }}", name, "value: "+quote(value))
}

// mockItem is a deploy item of the mock deployer that ends in a phase.
func mockItem(item string, phase v1alpha1.Phase) string {
	return landscape.MockItem(item, "phase: "+string(phase))
}

// delete deletes an object and waits until it is gone.
func (s *scene) delete(object client.Object) {
	s.T.Helper()
	s.Delete(object)
	s.Gone(object)
}

// requireValue checks what an Installation has deployed.
func (s *scene) requireValue(name, value string) {
	s.T.Helper()
	require.Equal(s.T, value, s.Config(name)["value"])
}

// gitRepository is a source of Flux that looks at a repository when it is asked to.
func gitRepository(name string, repo *servers.GitRepo) string {
	return fmt.Sprintf("apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: %s}\n"+
		"spec: {interval: 1h, url: %q, ref: {branch: main}}\n", name, repo.CloneURL)
}
