// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package behaviour

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// charted is a deploy item of a chart with ConfigMaps, as a Helm release or without one.
type charted struct {
	item      string
	isRelease bool
	names     []string
}

func (c charted) String() string {
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: settings\nversion: 1.0.0\n"}
	for _, name := range c.names {
		files["templates/"+name+".yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {value: same}\n"
	}
	archive, err := servers.PackageChart(servers.Files(files))
	if err != nil {
		panic(err)
	}
	return "- name: " + c.item + "\n  type: landscaper.gardener.cloud/helm\n  target: {import: cluster}\n  config:\n" +
		"    apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1\n    kind: ProviderConfiguration\n" +
		fmt.Sprintf("    name: %s\n    namespace: '{{ .imports.cluster.metadata.namespace }}'\n    helmDeployment: %t\n    chart: {archive: {raw: %s}}\n",
			c.item, c.isRelease, base64.StdEncoding.EncodeToString(archive))
}

// compose applies an Installation with these items.
func (s *scene) compose(name string, items ...fmt.Stringer) {
	s.T.Helper()
	text := "deployItems:\n"
	for _, item := range items {
		text += item.String()
	}
	s.apply(leaf{name: name, annotations: follows(), blueprint: inlineOf(text)}.String())
}

// refused waits until an Installation says that an object belongs to a Helm release.
func (s *scene) refused(name, object string) {
	s.T.Helper()
	s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
		return slices.ContainsFunc(inst.Status.Conditions, func(c metav1.Condition) bool {
			return strings.Contains(c.Message, object+": it belongs to Helm release "+s.Namespace+"/chart of DeployItem")
		})
	})
}

func (s *scene) has(object string) bool {
	s.T.Helper()
	config := &corev1.ConfigMap{ObjectMeta: s.Named(object)}
	err := s.Client().Get(s.Ctx, client.ObjectKeyFromObject(config), config)
	require.NoError(s.T, client.IgnoreNotFound(err))
	return err == nil
}

// TestAnObjectOfAReleaseIsRefusedToOthers has a release with an object that another Installation wants, too.
func TestAnObjectOfAReleaseIsRefusedToOthers(t *testing.T) {
	t.Parallel()
	for goes, other := range map[string]fmt.Stringer{
		"release": holds("other", "shared"), "other": charted{item: "other", names: []string{"shared"}},
	} {
		t.Run(goes+" is deleted", func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			s.compose("release", charted{"chart", true, []string{"of-chart", "shared"}})
			s.Ended("release", v1alpha1.PhaseSucceeded)
			s.compose("other", other)
			s.refused("other", "shared")

			if goes == "other" { // its job would wait for the release until its time is up
				s.Annotate(s.Installation("other"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
			}
			s.delete(s.Installation(goes))

			if goes == "release" {
				s.Ended("other", v1alpha1.PhaseSucceeded)
			}
			require.True(t, s.has("shared"))
		})
	}
}

// TestAnObjectMovesFromAReleaseToOthers is one edit of one Installation.
func TestAnObjectMovesFromAReleaseToOthers(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(names ...string) fmt.Stringer{
		"manifest": func(names ...string) fmt.Stringer { return holds("other", names...) },
		"template": func(names ...string) fmt.Stringer { return charted{item: "other", names: names} },
		"release":  func(names ...string) fmt.Stringer { return charted{item: "other", isRelease: true, names: names} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			s.compose("one", charted{"chart", true, []string{"of-chart", "moved"}}, other("of-other"))
			s.Ended("one", v1alpha1.PhaseSucceeded)

			s.compose("one", charted{"chart", true, []string{"of-chart"}}, other("of-other", "moved"))

			s.Ended("one", v1alpha1.PhaseSucceeded)
			require.True(t, s.has("moved"))
			s.delete(s.Installation("one"))
			for _, object := range []string{"of-chart", "of-other", "moved"} {
				require.NoError(t, s.AwaitGone(s.Ctx, &corev1.ConfigMap{ObjectMeta: s.Named(object)}))
			}
		})
	}
}

// TestAnObjectMovesToAnItemThatTakesOverNothing moves an object to an item that leaves alone what belongs to others.
func TestAnObjectMovesToAnItemThatTakesOverNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy string
		order  func(a, b *holder)
	}{
		"immutable, in no order":      {"immutable", func(_, _ *holder) {}},
		"fallback, giver after taker": {"fallback", func(a, _ *holder) { a.after = "b" }},
		"fallback, taker after giver": {"fallback", func(_, b *holder) { b.after = "a" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.Target("cluster")
			s.deploy("one", holds("a", "of-a", "moved"), holds("b"))
			s.Ended("one", v1alpha1.PhaseSucceeded)

			a, b := holds("a", "of-a"), holder{item: "b", policy: c.policy, names: []string{"moved"}}
			c.order(&a, &b)
			s.deploy("one", a, b)

			s.Ended("one", v1alpha1.PhaseSucceeded)
			require.Equal(t, s.items()["b"].Name, s.itemOf("moved"))
		})
	}
}

// claims is a deploy item of PersistentVolumeClaims.
type claims struct {
	item  string
	names []string
}

func (c claims) String() string {
	text := "- name: " + c.item + "\n  type: landscaper.gardener.cloud/kubernetes-manifest\n  target: {import: cluster}\n" +
		"  config:\n    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2\n    kind: ProviderConfiguration\n    manifests:\n"
	if len(c.names) == 0 {
		return strings.TrimSuffix(text, "\n") + " []\n"
	}
	for _, name := range c.names {
		text += fmt.Sprintf("    - manifest: {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: %s, namespace: {{ .imports.cluster.metadata.namespace }}}, "+
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}\n", name)
	}
	return text
}

// TestDataMovesAsItIs moves a claim to another item in one edit, and then to the new name of that item.
func TestDataMovesAsItIs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Target("cluster")
	none := holds("none", "of-none")
	s.compose("one", claims{"a", []string{"of-a", "moved"}}, claims{"b", []string{"of-b"}}, none)
	s.Ended("one", v1alpha1.PhaseSucceeded)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: s.Named("moved")}
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(claim), claim))
	before := claim.UID

	for _, items := range [][]fmt.Stringer{
		{claims{"a", []string{"of-a"}}, claims{"b", []string{"of-b", "moved"}}, none},
		{claims{"a", []string{"of-a"}}, claims{"c", []string{"of-b", "moved"}}, none},
		{claims{"a", []string{"of-a", "moved"}}, claims{"c", []string{"of-b"}}, none},
	} {
		s.compose("one", items...)
		s.Ended("one", v1alpha1.PhaseSucceeded)
		require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(claim), claim))
		require.Equal(t, before, claim.UID)
		require.Nil(t, claim.DeletionTimestamp)
	}
}
