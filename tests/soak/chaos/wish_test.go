// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// wish is what the user wants of a unit. Each field chooses between two.
type wish struct{ spec, values, chart, target, mode, name bool }

func choose(second bool, of [2]string) string {
	if second {
		return of[1]
	}
	return of[0]
}

// wished is a blueprint with a manifest item and a helm item. What the spec says is whether the first has one object or another beside
// its own.
const wished = `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
jsonSchema: "https://json-schema.org/draft/2019-09/schema"
imports:
- name: cluster
  type: target
  targetType: landscaper.gardener.cloud/kubernetes-cluster
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: config
      type: landscaper.gardener.cloud/kubernetes-manifest
      target: {import: cluster}
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        updateStrategy: update
        manifests:
        - {policy: manage, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s-config, namespace: %[2]s}, data: {v: %[3]s}}}
        - {policy: manage, manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s-%[3]s, namespace: %[2]s}}}
    - name: chart
      type: landscaper.gardener.cloud/helm
      target: {import: cluster}
      config:
        apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
        name: %[1]s
        namespace: %[2]s
        helmDeployment: %[4]s
        chart: {archive: {raw: %[5]s}}
        values: {version: %[6]s}
`

// packed are the two charts of wishes.
var packed = [2]string{packedChart("1.0.0", "first"), packedChart("2.0.0", "second")}

// packedChart is a chart with an object that all versions have and one of its own.
func packedChart(version, own string) string {
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"{{ .Release.Name }}-%s\"}\ndata: {version: \"{{ .Values.version }}\"}\n"
	archive, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml":         "apiVersion: v2\nname: settings\nversion: " + version + "\n",
		"templates/all.yaml": fmt.Sprintf(object, "chart"),
		"templates/own.yaml": fmt.Sprintf(object, own),
	}))
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(archive)
}

// installation returns a unit as it is wished.
func (e *editing) installation(unit int, w wish) *v1alpha1.Installation {
	inst := e.units.Installation(unit, "")
	inst.Spec.Imports.Data = nil
	inst.Spec.Imports.Targets[0].Target = choose(w.target, targets)
	name := e.units.Name(unit) + "-" + choose(w.name, [2]string{"plain", "renamed"})
	inst.Spec.Blueprint.Inline.Filesystem = rig.Encode(map[string]string{"blueprint.yaml": fmt.Sprintf(wished, name, e.units.Deployed,
		choose(w.spec, [2]string{"v1", "v2"}), choose(w.mode, [2]string{"true", "false"}), choose(w.chart, packed),
		choose(w.values, [2]string{"one", "two"}))})
	return inst
}

// targets are the names of the Targets of an editing.
var targets = [2]string{"cluster", "other"}

// prepareSites makes a Target for each of two clusters. What deployers send there passes a handler.
func (e *editing) prepareSites(ctx context.Context, between func(http.Handler) http.Handler) {
	e.t.Helper()
	second, err := e.SecondCluster(ctx, targets[1], platform.Options{})
	require.NoError(e.t, err)
	e.prepareWith(ctx, e.passing(e.Cluster, between))
	kubeconfig, err := platform.KubeconfigFor(e.passing(second, between))
	require.NoError(e.t, err)
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Namespace: e.units.Namespace}
	}
	require.NoError(e.t, e.Apply(ctx,
		&corev1.Secret{ObjectMeta: meta("other-access"), Data: map[string][]byte{"kubeconfig": kubeconfig}},
		&v1alpha1.Target{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: targetKind}, ObjectMeta: meta(targets[1]),
			Spec: v1alpha1.TargetSpec{
				Type: v1alpha1.KubernetesClusterTargetType, SecretRef: &v1alpha1.LocalSecretReference{Name: "other-access", Key: "kubeconfig"},
			},
		}))
	require.NoError(e.t, second.Apply(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.units.Deployed}}))
	e.sites = map[string]client.Client{targets[0]: e.Client(), targets[1]: second.Client()}
}

func (e *editing) passing(cluster *platform.Cluster, between func(http.Handler) http.Handler) *rest.Config {
	e.t.Helper()
	config, err := cluster.NewUser(targetUser, rig.AllRights)
	require.NoError(e.t, err)
	return e.through(config, between)
}

// snapshot is what is deployed of a unit: what counts of each object, by Target and name without that of the unit.
type snapshot map[string]string

// found returns what the clusters hold of a unit.
func (e *editing) found(ctx context.Context, unit int) snapshot {
	e.t.Helper()
	found := snapshot{}
	for target, site := range e.sites {
		configs, secrets := &corev1.ConfigMapList{}, &corev1.SecretList{}
		require.NoError(e.t, site.List(ctx, configs, client.InNamespace(e.units.Deployed)))
		require.NoError(e.t, site.List(ctx, secrets, client.InNamespace(e.units.Deployed)))
		for i := range configs.Items {
			found.add(target, e.units.Name(unit), &configs.Items[i], fmt.Sprint(configs.Items[i].Data))
		}
		for i := range secrets.Items {
			record := &secrets.Items[i]
			if state := record.Labels["status"]; state != "superseded" {
				record.Name, record.Annotations = "release "+record.Labels["name"], nil
				found.add(target, e.units.Name(unit), record, state)
			}
		}
	}
	return found
}

// add notes an object of a unit. Of labels and annotations only the keys count: values name the unit and its items.
func (s snapshot) add(target, unit string, object client.Object, content string) {
	if !strings.Contains(object.GetName(), unit) {
		return
	}
	keys := slices.Concat(slices.Sorted(maps.Keys(object.GetLabels())), slices.Sorted(maps.Keys(object.GetAnnotations())))
	s[target+": "+strings.ReplaceAll(object.GetName(), unit, "")] = fmt.Sprint(content, keys, object.GetFinalizers())
}
