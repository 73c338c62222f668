// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// record returns the ConfigMap that tells what is left behind of an Installation.
func (s *scene) record(inst *v1alpha1.Installation) *corev1.ConfigMap {
	s.T.Helper()
	found := &corev1.ConfigMapList{}
	labels := client.MatchingLabels{v1alpha1.LeftBehindLabel: inst.Name}
	require.NoError(s.T, s.Client().List(s.Ctx, found, client.InNamespace(s.Namespace), labels))
	require.Len(s.T, found.Items, 1)
	record := &found.Items[0]
	assert.True(s.T, strings.HasPrefix(record.Name, inst.Name+"-left-behind-"))
	assert.Empty(s.T, record.OwnerReferences, "nothing takes the record along")
	assert.Equal(s.T, string(inst.UID), record.Annotations[v1alpha1.LeftBehindLabel])
	return record
}

// entries returns the record by name of the item.
func (s *scene) entries(record *corev1.ConfigMap) map[string]object {
	s.T.Helper()
	entries := map[string]object{}
	for _, text := range record.Data {
		entry := object{}
		require.NoError(s.T, yaml.Unmarshal([]byte(text), &entry))
		entries[entry["item"].(string)] = entry
	}
	return entries
}

// itemsOf returns the DeployItems of an Installation.
func (s *scene) itemsOf(name string) []*v1alpha1.DeployItem {
	s.T.Helper()
	list := &v1alpha1.DeployItemList{}
	labels := client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: name}
	require.NoError(s.T, s.Client().List(s.Ctx, list, client.InNamespace(s.Namespace), labels))
	var items []*v1alpha1.DeployItem
	for i := range list.Items {
		items = append(items, &list.Items[i])
	}
	require.NotEmpty(s.T, items)
	return items
}

// warnings returns the events of one reason about the Installations of the scene.
func (s *scene) warnings(reason string) []corev1.Event {
	s.T.Helper()
	events := &corev1.EventList{}
	require.NoError(s.T, s.Client().List(s.Ctx, events, client.InNamespace(s.Namespace)))
	return slices.DeleteFunc(events.Items, func(event corev1.Event) bool { return event.Reason != reason })
}

// forced is the spec of a root with a deployed ConfigMap, an item that never ends, a sub-installation with another ConfigMap and an export.
func forcedSpec() object {
	sub := object{
		"name": "sub",
		"blueprint": inTemplate(object{
			"imports":          list{object{"name": "cluster", "targetType": clusterType}},
			"deployExecutions": goTemplate("deployItems:\n" + configItem("low", "{import: cluster}", "deployed-low", "x")),
		}),
		"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
	}
	return object{
		"blueprint": inline(object{
			"imports":          list{object{"name": "cluster", "targetType": clusterType}},
			"exports":          dataExports("out"),
			"deployExecutions": goTemplate("deployItems:\n" + configItem("high", "{import: cluster}", "deployed-high", "x") + waitingItem("busy")),
			"exportExecutions": goTemplate("exports: {out: x}"),
			"subinstallations": list{sub},
		}),
		"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
		"exports": object{"data": list{object{"name": "out", "dataRef": "out"}}},
	}
}

func TestA11ForceDelete(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("root", forcedSpec())
	s.install("other", object{"blueprint": inline(object{"deployExecutions": goTemplate("deployItems:\n" + mockItem("kept", "{}"))})})
	s.installWith("successor", echo(dataImports("out"), refs("out")), nil)
	s.succeeded("other")
	for _, name := range []string{"deployed-high", "deployed-low"} {
		config := s.config(name)
		require.NoError(t, s.Await(s.Ctx, config, func() bool { return config.UID != "" }))
	}
	root := s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
	low := s.Child("root", "sub")
	require.NotNil(t, low)
	s.Ended(low.Name, v1alpha1.PhaseSucceeded)

	s.Annotate(s.Installation("root"), v1alpha1.ForceDeleteAnnotation, "true")
	s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return inst.Annotations[v1alpha1.ForceDeleteAnnotation] == "true" && inst.Status.Phase == v1alpha1.PhaseProgressing
	})
	deleted := time.Now()
	s.Delete(root)
	s.Gone(root, low, &v1alpha1.Execution{ObjectMeta: root.ObjectMeta}, &v1alpha1.Execution{ObjectMeta: low.ObjectMeta})

	items := &v1alpha1.DeployItemList{}
	require.NoError(t, s.Client().List(s.Ctx, items, client.InNamespace(s.Namespace)))
	require.Len(t, items.Items, 1, "only that of the other Installation")
	assert.Equal(t, "kept", items.Items[0].Labels[v1alpha1.ExecutionManagedNameLabel])
	assert.True(t, s.exists(s.config("deployed-high")), "nothing is uninstalled")
	assert.True(t, s.exists(s.config("deployed-low")), "nothing is uninstalled")

	entries := s.entries(s.record(root))
	require.ElementsMatch(t, []string{"high", "busy", "low"}, keys(entries))
	assert.Equal(t, "root/sub", entries["low"]["installation"])
	assert.Equal(t, v1alpha1.ManifestDeployItemType, entries["high"]["type"])
	assert.Equal(t, "cluster", entries["high"]["target"])
	require.Len(t, entries["high"]["resources"], 1)
	assert.Equal(t, object{"apiVersion": "v1", "kind": "ConfigMap", "namespace": s.Namespace, "name": "deployed-high"}, entries["high"]["resources"].(list)[0])
	require.Eventually(t, func() bool { return len(s.warnings("ForceDeleted")) > 0 }, landscapePatience, tick)
	require.Len(t, s.warnings("ForceDeleted"), 1)
	assert.Contains(t, s.warnings("ForceDeleted")[0].Message, "root/high ("+v1alpha1.ManifestDeployItemType+" on cluster)")
	s.requireRecordedFirst(deleted)
}

// requireRecordedFirst checks that nothing was taken apart before the record was written.
func (s *scene) requireRecordedFirst(since time.Time) {
	s.T.Helper()
	writes := s.Writes(s.Ctx, s.T, s.Namespace, since)
	recorded := slices.IndexFunc(writes, func(r platform.Request) bool { return r.Resource == "configmaps" && r.Verb == "create" })
	require.GreaterOrEqual(s.T, recorded, 0)
	for _, write := range writes[:recorded] {
		assert.False(s.T, write.Verb == "delete" || write.Verb == "patch" && write.Subresource == "", "%s %s %s", write.Verb, write.Resource, write.Name)
	}
}

func TestA11ForceDeleteEndsADeletionThatCannot(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("root", onCluster("deployItems:\n"+configItem("item", "{import: cluster}", "deployed", "x")))
	root := s.succeeded("root")
	require.NoError(t, s.Client().DeleteAllOf(s.Ctx, &v1alpha1.Target{}, client.InNamespace(s.Namespace)), "copies lead there, too")
	s.Delete(root)
	item := s.itemsOf("root")[0]
	require.NoError(t, s.Await(s.Ctx, item, func() bool { return item.Status.Phase.IsDeletion() }), "its Target is gone, so it cannot be uninstalled")
	s.Annotate(s.Installation("root"), v1alpha1.ForceDeleteAnnotation, "true")
	s.Gone(root)
	assert.Empty(t, s.objectsOf())
	assert.True(t, s.exists(s.config("deployed")))
	assert.Contains(t, s.entries(s.record(root)), "item")
}

func TestA11WithoutDeployItemsThereIsNoRecord(t *testing.T) {
	s := newScene(t)
	s.install("root", object{"blueprint": inline(object{})})
	root := s.succeeded("root")
	s.Annotate(s.Installation("root"), v1alpha1.ForceDeleteAnnotation, "true")
	s.Delete(root)
	s.Gone(root)
	assert.Empty(t, s.configs())
}
