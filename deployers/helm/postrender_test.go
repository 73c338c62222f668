// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

func patched(patches ...any) config { return config{"kustomize": config{"patches": patches}} }

func TestC25PostRenderersChangeTheObjects(t *testing.T) {
	files := map[string]string{
		"templates/cm.yaml": configMapTemplate, "templates/d.yaml": deploymentTemplate, "templates/extra.yaml": named("extra"), "templates/hook.yaml": hookTemplate,
	}
	for name, isRelease := range map[string]bool{"release": true, "template": false} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			content := f.with(files, nil)
			content["helmDeployment"] = isRelease
			content["readinessChecks"] = config{"disableDefault": true}
			content["commonMetadata"] = config{"labels": config{"team": "common"}}
			content["postRenderers"] = []any{
				patched(
					config{"patch": "- {op: add, path: /data/added, value: by a JSON patch}", "target": config{"kind": "ConfigMap", "name": "hello-.*"}},
					config{"patch": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hello-world, labels: {team: patch, other: patch}}\ndata: {testData: patched}\n",
						"target": config{"kind": "ConfigMap", "name": "hello-world"}},
					config{"patch": "$patch: delete\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\n"},
				),
				config{"kustomize": config{"images": []any{config{"name": "none", "newName": "registry.example.org/some", "newTag": "v2"}}}},
			}
			f.configure(content)
			f.succeed(f.deployer())
			object := &corev1.ConfigMap{}
			require.NoError(t, f.get("hello-world", object))
			assert.Equal(t, map[string]string{"added": "by a JSON patch", "testData": "patched"}, object.Data)
			assert.Equal(t, "common", object.Labels["team"], "the metadata of the item is set after the patches")
			assert.Equal(t, "patch", object.Labels["other"])
			assert.True(t, f.isGone("extra"))
			deployment := &appsv1.Deployment{}
			require.NoError(t, f.get("hello-world", deployment))
			assert.Equal(t, "registry.example.org/some:v2", deployment.Spec.Template.Spec.Containers[0].Image)

			content["postRenderers"] = nil
			f.next(content)
			f.succeed(f.deployer())
			f.configMap("extra")
			if isRelease {
				assert.Equal(t, 2, f.release().Revision, "post renderers are part of what a revision is made from")
			}
		})
	}
}

func TestC25PostRenderersThatFailNeedAPerson(t *testing.T) {
	bomb := "["
	for range 40 {
		bomb += "{op: copy, from: /data, path: /data/a},"
	}
	for name, tc := range map[string]struct{ patch, target, want string }{
		"nothing to patch":  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n", "", "postRenderers[0].kustomize"},
		"path not there":    {"- {op: remove, path: /data/none}", "ConfigMap", "postRenderers[0].kustomize"},
		"number of 54 bits": {"- {op: add, path: /data/n, value: 9007199254740993}", "ConfigMap", "a JSON patch cannot keep a number of so many digits; use a strategic merge patch"},
		"copies of copies":  {bomb + "]", "ConfigMap", "postRenderers[0].kustomize"},
		"file of a path":    {"../../etc/passwd", "", "postRenderers[0].kustomize"},
		"remote, of a path": {"https://example.org/patch.yaml", "", "postRenderers[0].kustomize"},
	} {
		for _, isRelease := range []bool{true, false} {
			if !isRelease && name != "nothing to patch" {
				continue // both modes render in the same way
			}
			t.Run(name, func(t *testing.T) {
				f := newFixture(t)
				patch := config{"patch": tc.patch}
				if tc.target != "" {
					patch["target"] = config{"kind": tc.target}
				}
				content := f.with(goodFiles, nil)
				content["helmDeployment"] = isRelease
				content["postRenderers"] = []any{patched(patch)}
				f.configure(content)
				err := f.fail(f.deployer())
				require.ErrorContains(t, err, tc.want)
				assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
				assert.Nil(t, f.release())
			})
		}
	}
}

// TestPostRenderersTakeAHookOfTheNameOfAnObject has the later one count, as without post renderers.
func TestPostRenderersTakeAHookOfTheNameOfAnObject(t *testing.T) {
	files := map[string]string{
		"templates/hook.yaml":   hookNamed("app", "pre-install") + "data: {from: hook}\n",
		"templates/object.yaml": named("app") + "data: {from: object}\n",
		"templates/lists.yaml":  "apiVersion: v1\nkind: List\nitems: []\n---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed}}\n",
	}
	for name, renderers := range map[string][]any{"without": nil, "with": {config{"kustomize": config{"images": []any{config{"name": "x", "newTag": "1"}}}}}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(config{"chart": raw(archive(t, "1.0.0", files)), "helmDeployment": false, "postRenderers": renderers})
			f.succeed(f.deployer())
			assert.Equal(t, map[string]string{"from": "object"}, f.configMap("app"))
			assert.False(t, f.isGone("listed"))
		})
	}
}
