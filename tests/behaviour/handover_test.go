// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// holder is a deploy item that deploys ConfigMaps.
type holder struct {
	item, after, policy string
	names               []string
}

func holds(item string, names ...string) holder {
	return holder{item: item, policy: "manage", names: names}
}

func (h holder) String() string {
	text := "- name: " + h.item + "\n  type: landscaper.gardener.cloud/kubernetes-manifest\n  target: {import: cluster}\n"
	if h.after != "" {
		text += "  dependsOn: [" + h.after + "]\n"
	}
	text += "  config:\n    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\n    kind: ProviderConfiguration\n    manifests:\n"
	if len(h.names) == 0 {
		return strings.TrimSuffix(text, "\n") + " []\n"
	}
	for _, name := range h.names {
		text += fmt.Sprintf("    - policy: %s\n      manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: %s, "+
			"namespace: {{ .imports.cluster.metadata.namespace }}}, data: {value: same}}\n", h.policy, name)
	}
	return text
}

// deploy applies an Installation with these items.
func (s *scene) deploy(name string, items ...holder) {
	s.T.Helper()
	var template strings.Builder
	template.WriteString("deployItems:\n")
	for _, item := range items {
		template.WriteString(item.String())
	}
	s.apply(leaf{name: name, annotations: follows(), blueprint: inlineOf(template.String())}.String())
}

// itemOf returns the label by which an object names its DeployItem.
func (s *scene) itemOf(object string) string {
	s.T.Helper()
	config := &corev1.ConfigMap{ObjectMeta: s.Named(object)}
	require.NoError(s.T, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(config), config))
	return config.Labels[v1alpha1.ManifestDeployItemLabel]
}

func TestObjectsMoveBetweenItemsOfAnInstallation(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]func(a, b *holder){
		"in no order": func(_, _ *holder) {},
		"b after a":   func(_, b *holder) { b.after = "a" },
		"a after b":   func(a, _ *holder) { a.after = "b" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			for round := range 3 {
				a, b := holds("a", "of-a", "moved", "swapped"), holds("b", "of-b", "swapped-too")
				if round%2 == 1 {
					a, b = holds("a", "of-a", "swapped-too"), holds("b", "of-b", "moved", "swapped")
				}
				order(&a, &b)
				s.deploy("one", a, b)
				s.Ended("one", v1alpha1.PhaseSucceeded)
				for item, names := range map[string][]string{"a": a.names, "b": b.names} {
					for _, object := range names {
						require.Equal(t, s.items()[item].Name, s.itemOf(object), "%s in round %d", object, round)
					}
				}
			}
			s.delete(s.Installation("one"))
			for _, object := range []string{"of-a", "of-b", "moved", "swapped", "swapped-too"} {
				require.NoError(t, s.AwaitGone(s.Ctx, &corev1.ConfigMap{ObjectMeta: s.Named(object)}))
			}
		})
	}
}

// TestObjectMovesFromAnItemThatGoes drops the item that had an object in the edit that gives the object to another one.
func TestObjectMovesFromAnItemThatGoes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.deploy("one", holds("a", "of-a"), holds("b", "moved"))
	s.Ended("one", v1alpha1.PhaseSucceeded)

	s.deploy("one", holds("a", "of-a", "moved"))

	s.Ended("one", v1alpha1.PhaseSucceeded)
	require.Equal(t, s.items()["a"].Name, s.itemOf("moved"))
}

func TestObjectMovesBetweenInstallationsOnceTheOwnerLetsGo(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	s.deploy("owner", holds("main", "kept", "moved"))
	s.Ended("owner", v1alpha1.PhaseSucceeded)
	owner := s.itemOf("moved")

	s.deploy("next", holds("main", "moved"))
	s.AwaitState("next", func(inst *v1alpha1.Installation) bool {
		return slices.ContainsFunc(inst.Status.Conditions, func(c metav1.Condition) bool {
			return strings.Contains(c.Message, "moved: it belongs to DeployItem "+owner+" of namespace "+s.Namespace)
		})
	})
	s.deploy("owner", holds("main", "kept"))

	s.Ended("owner", v1alpha1.PhaseSucceeded)
	s.Ended("next", v1alpha1.PhaseSucceeded)
	require.NotEqual(t, owner, s.itemOf("moved"))
}

// nest applies the Installation root with one sub-installation for each item.
func (s *scene) nest(items ...holder) {
	s.T.Helper()
	imports := []any{map[string]any{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}}
	var subs []any
	for _, item := range items {
		subs = append(subs, map[string]any{
			"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "InstallationTemplate", "name": "sub-" + item.item,
			"imports":   map[string]any{"targets": []any{map[string]any{"name": "cluster", "target": "cluster"}}},
			"blueprint": map[string]any{"filesystem": map[string]any{"blueprint.yaml": blueprintOf("deployItems:\n" + item.String())}},
		})
	}
	root := landscape.Blueprint(map[string]any{"imports": imports, "subinstallations": subs})
	s.apply(leaf{name: "root", annotations: follows(), blueprint: "inline: {filesystem: {blueprint.yaml: " + quote(root) + "}}"}.String())
}

func TestObjectMovesBetweenSubinstallations(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	for round := range 3 {
		a, b := holds("a", "of-a", "moved"), holds("b", "of-b")
		owner := "a"
		if round%2 == 1 {
			a, b, owner = holds("a", "of-a"), holds("b", "of-b", "moved"), "b"
		}
		s.nest(a, b)
		s.Ended("root", v1alpha1.PhaseSucceeded)
		require.Equal(t, s.items()[owner].Name, s.itemOf("moved"), "round %d", round)
	}
}

func TestWhatAnInstallationLeavesBehindIsTakenOver(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s *scene){
		"ignored": func(s *scene) {
			s.deploy("former", holder{item: "main", policy: "ignore", names: []string{"left"}})
			s.Ended("former", v1alpha1.PhaseSucceeded)
		},
		"kept": func(s *scene) {
			s.deploy("former", holder{item: "main", policy: "keep", names: []string{"left"}})
			s.Ended("former", v1alpha1.PhaseSucceeded)
			s.delete(s.Installation("former"))
		},
		"not uninstalled": func(s *scene) {
			s.Annotate(s.Installation("former"), v1alpha1.DeleteWithoutUninstallAnnotation, "true")
			s.delete(s.Installation("former"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			s.deploy("former", holds("main", "left"))
			s.Ended("former", v1alpha1.PhaseSucceeded)
			leave(s)
			before := s.itemOf("left")

			s.deploy("next", holds("main", "left"))

			s.Ended("next", v1alpha1.PhaseSucceeded)
			require.NotEqual(t, before, s.itemOf("left"))
			s.delete(s.Installation("next"))
			require.NoError(t, s.AwaitGone(s.Ctx, &corev1.ConfigMap{ObjectMeta: s.Named("left")}))
		})
	}
}
