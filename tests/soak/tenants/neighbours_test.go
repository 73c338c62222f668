// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// honest is how many tenants only want to work.
const honest = 9

// neighbours are the namespaces of tenants that only want to work.
type neighbours []*landscape.Scene

func newNeighbours(t testing.TB) (all neighbours) {
	for range honest {
		s := landscape.NewScene(t)
		s.Target("cluster")
		all = append(all, s)
	}
	return all
}

// live lets each neighbour install something, change it twice and delete it, all side by side, and returns how long the slowest took.
func (n neighbours) live(t testing.TB) time.Duration {
	t.Helper()
	begun := time.Now()
	group, ctx := errgroup.WithContext(t.Context())
	for _, s := range n {
		group.Go(func() error {
			for _, value := range []string{"first", "second", "third"} {
				if err := deploy(ctx, s, value); err != nil {
					return fmt.Errorf("the %s deployment in %s after %s: %w", value, s.Namespace, time.Since(begun), err)
				}
			}
			return remove(ctx, s)
		})
	}
	require.NoError(t, group.Wait())
	return time.Since(begun)
}

// deploy waits until a value has been deployed: as a manifest, by a chart and through an export.
func deploy(ctx context.Context, s *landscape.Scene, value string) error {
	ctx, cancel := context.WithTimeout(ctx, landscape.Patience)
	defer cancel()
	inst := &unstructured.Unstructured{Object: object{"spec": object{
		"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": blueprint(s.Namespace, value)}}},
		"imports":   object{"targets": []any{object{"name": "cluster", "target": "cluster"}}},
		"exports":   object{"data": []any{object{"name": "answer", "dataRef": "answer"}}},
	}}}
	inst.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
	inst.SetName("work")
	inst.SetNamespace(s.Namespace)
	inst.SetAnnotations(map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"})
	if err := s.Apply(ctx, inst); err != nil {
		return err
	}
	work := s.Installation("work")
	var failed error
	err := s.Await(ctx, work, func() bool {
		ended := work.Status.ObservedGeneration == work.Generation && work.Status.IsIdle() && work.Status.JobID != ""
		if ended && work.Status.Phase.IsFailed() {
			failed = fmt.Errorf("it failed: %v", work.Status.LastError)
		}
		return ended
	})
	if err != nil || failed != nil {
		return fmt.Errorf("%w %w, phase %q, last error %v", err, failed, work.Status.Phase, work.Status.LastError)
	}
	for _, name := range []string{"of-manifest", "of-chart"} {
		config := &corev1.ConfigMap{ObjectMeta: s.Named(name)}
		if err := s.Client().Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return err
		}
		if config.Data["value"] != value {
			return fmt.Errorf("%s holds %q", name, config.Data["value"])
		}
	}
	return nil
}

func remove(ctx context.Context, s *landscape.Scene) error {
	ctx, cancel := context.WithTimeout(ctx, landscape.Patience)
	defer cancel()
	if err := s.Client().Delete(ctx, s.Installation("work")); err != nil {
		return err
	}
	if err := s.AwaitGone(ctx, s.Installation("work")); err != nil {
		return fmt.Errorf("the deletion in %s: %w", s.Namespace, err)
	}
	return nil
}

func blueprint(namespace, value string) string {
	return landscape.Blueprint(object{
		"imports": []any{object{"name": "cluster", "type": "target", "targetType": "landscaper.gardener.cloud/kubernetes-cluster"}},
		"exports": []any{object{"name": "answer", "type": "data", "schema": object{}}},
		"deployExecutions": landscape.GoTemplate("deployItems:\n" +
			landscape.ConfigItem("manifest", "{import: cluster}", namespace, "of-manifest", "value: "+value) +
			landscape.MockItem("mock", "export: {answer: "+value+"}") +
			chartItem("chart", namespace, map[string]string{"templates/config.yaml": configTemplate}, "values: {value: "+value+"}")),
		"exportExecutions": landscape.GoTemplate(`exports: {answer: {{ index .values.deployitems "mock" "answer" }}}`),
	})
}

const configTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-chart}\ndata: {value: {{ .Values.value }}}\n"

// chartItem is a deploy item of a chart with some files. The settings are further lines of its configuration.
func chartItem(name, namespace string, files map[string]string, settings ...string) string {
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n"}
	for path, text := range files {
		all[path] = text
	}
	archive, err := servers.PackageChart(servers.Files(all))
	if err != nil {
		panic(err)
	}
	item := "- name: " + name + "\n  type: landscaper.gardener.cloud/helm\n  target: {import: cluster}\n  config:\n" +
		"    apiVersion: helm.deployer.landscaper.gardener.cloud/v1alpha1\n    kind: ProviderConfiguration\n" +
		fmt.Sprintf("    name: %s\n    namespace: %s\n    chart: {archive: {raw: %s}}\n", name, namespace, base64.StdEncoding.EncodeToString(archive))
	for _, line := range settings {
		item += "    " + line + "\n"
	}
	return item
}
