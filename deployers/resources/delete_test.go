// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// groupsOf reads deletion groups from YAML.
func groupsOf(t *testing.T, text string) []managedresource.DeletionGroupDefinition {
	t.Helper()
	var groups []managedresource.DeletionGroupDefinition
	require.NoError(t, yaml.Unmarshal([]byte(text), &groups))
	for _, err := range managedresource.ValidateDeletionGroups("groups", groups) {
		require.NoError(t, err)
	}
	return groups
}

// delete deletes and requires that nothing is left to wait for.
func (b *bench) delete(managed []managedresource.ManagedResourceStatus, groups []managedresource.DeletionGroupDefinition) {
	b.t.Helper()
	progress, err := b.Delete(b.t.Context(), managed, groups)
	require.NoError(b.t, err)
	require.True(b.t, progress.Done(), progress.Waiting())
}

func (b *bench) clusterRole(name string) *unstructured.Unstructured {
	return b.object("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: '" + name + ".%[1]s'}}")
}

func TestDeleteTakesTwoRequestsAnObject(t *testing.T) {
	b := newBench(t)
	applied := b.apply("", nil, manage(b.configMap("one", "a", "1")))
	b.sent()

	b.delete(applied.Managed, nil)

	assert.Equal(t, []string{"GET", "DELETE"}, b.sent())
	assert.False(t, b.exists(b.configMap("one", "a", "1")))
}

func TestC21DeletionGroups(t *testing.T) {
	for name, test := range map[string]struct {
		groups string
		stay   []string
	}{
		"default":              {groups: "[]"},
		"empty switches off":   {groups: "[{predefinedResourceGroup: {type: empty}}]", stay: []string{"one", "two", "role"}},
		"namespaced only":      {groups: "[{predefinedResourceGroup: {type: namespaced-resources}}]", stay: []string{"role"}},
		"cluster-scoped only":  {groups: "[{predefinedResourceGroup: {type: cluster-scoped-resources}}]", stay: []string{"one", "two"}},
		"crds only":            {groups: "[{predefinedResourceGroup: {type: crds}}]", stay: []string{"one", "two", "role"}},
		"custom by kind":       {groups: "[{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap}]}}]", stay: []string{"role"}},
		"custom by plural":     {groups: "[{customResourceGroup: {resources: [{apiVersion: v1, kind: configmaps}]}}]", stay: []string{"role"}},
		"custom by name":       {groups: "[{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap, names: [two]}]}}]", stay: []string{"one", "role"}},
		"other namespace":      {groups: "[{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap, namespaces: [other]}]}}]", stay: []string{"one", "two", "role"}},
		"unknown kind":         {groups: "[{customResourceGroup: {resources: [{apiVersion: example.com/v1, kind: Nothing}]}}]", stay: []string{"one", "two", "role"}},
		"unknown kind, all":    {groups: "[{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: example.com/v1, kind: nothings}]}}]", stay: []string{"one", "two", "role"}},
		"custom and the rest":  {groups: "[{customResourceGroup: {resources: [{apiVersion: v1, kind: ConfigMap}]}}, {predefinedResourceGroup: {type: cluster-scoped-resources}}]"},
		"target without match": {groups: "[{customResourceGroup: {targetName: other, deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, names: [two], namespaces: [no]}]}}]", stay: []string{"one", "two", "role"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.Targets = func(context.Context, string) (*target.Cluster, error) { return b.Cluster, nil }
			objects := map[string]*unstructured.Unstructured{
				"one": b.configMap("one", "a", "1"), "two": b.configMap("two", "a", "1"), "role": b.clusterRole("role")}
			applied := b.apply("", nil, manage(objects["one"]), manage(objects["two"]), manage(objects["role"]))
			t.Cleanup(func() { _ = platform.Shared(t).Client().Delete(background(), objects["role"]) })

			b.delete(applied.Managed, groupsOf(t, test.groups))

			var stay []string
			for _, name := range []string{"one", "two", "role"} {
				if b.exists(objects[name]) {
					stay = append(stay, name)
				}
			}
			assert.Equal(t, test.stay, stay)
		})
	}
}

func TestC21DeleteAllResourcesTakesUnmanagedObjects(t *testing.T) {
	b := newBench(t)
	applied := b.apply("", nil, manage(b.configMap("managed", "a", "1")))
	b.put(b.configMap("other", "a", "1"))
	groups := groupsOf(t, "[{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, names: [managed, other], namespaces: ["+b.namespace+"]}]}}]")

	b.delete(applied.Managed, groups)

	assert.False(t, b.exists(b.configMap("managed", "a", "1")))
	assert.False(t, b.exists(b.configMap("other", "a", "1")))
}

func TestDeleteAllResourcesOnAnotherTarget(t *testing.T) {
	b := newBench(t)
	config, err := platform.Shared(t).NewUser("second-"+b.namespace, "system:masters")
	require.NoError(t, err)
	second := b.open(config)
	b.Targets = func(_ context.Context, name string) (*target.Cluster, error) {
		assert.Equal(t, "second", name)
		return second, nil
	}
	applied := b.apply("", nil, manage(b.configMap("managed", "a", "1")))
	b.put(b.configMap("other", "a", "1"))
	groups := groupsOf(t, "[{customResourceGroup: {targetName: second, deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, names: [other], namespaces: ["+b.namespace+"]}]}}]")

	b.delete(applied.Managed, groups)

	assert.True(t, b.exists(b.configMap("managed", "a", "1")), "no group takes the managed object")
	assert.False(t, b.exists(b.configMap("other", "a", "1")))
}

func TestNothingManagedNothingDeleted(t *testing.T) {
	b := newBench(t)
	b.put(b.configMap("other", "a", "1"))
	b.delete(nil, groupsOf(t, "[{customResourceGroup: {deleteAllResources: true, resources: [{apiVersion: v1, kind: ConfigMap, namespaces: ["+b.namespace+"]}]}}]"))
	assert.True(t, b.exists(b.configMap("other", "a", "1")))
}

const held = "{apiVersion: v1, kind: ConfigMap, metadata: {name: held, namespace: %[1]s, finalizers: [example.com/hold]}}"

func TestC21GroupsWaitForTheOneBefore(t *testing.T) {
	b := newBench(t)
	role := b.clusterRole("role")
	applied := b.apply("", nil, manage(b.object(held)), manage(role))

	progress, err := b.Delete(t.Context(), applied.Managed, nil)

	require.NoError(t, err)
	assert.Contains(t, progress.Waiting(), "ConfigMap "+b.namespace+"/held is still there, held by [example.com/hold]")
	require.Len(t, progress.Watch, 1)
	assert.Equal(t, "held", progress.Watch[0].Name)
	assert.True(t, b.exists(role), "the next group has not begun")
	b.change(b.object(held), "metadata: {finalizers: null}")
	b.delete(applied.Managed, nil)
	assert.False(t, b.exists(role))
}

func TestC21ForceDeleteRemovesFinalizers(t *testing.T) {
	for name, groups := range map[string]string{
		"predefined": "[{predefinedResourceGroup: {type: namespaced-resources, forceDelete: true}}]",
		"custom":     "[{customResourceGroup: {forceDelete: true, resources: [{apiVersion: v1, kind: ConfigMap}]}}]",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			applied := b.apply("", nil, manage(b.object(held)))

			b.delete(applied.Managed, groupsOf(t, groups))

			assert.False(t, b.exists(b.object(held)))
		})
	}
}

func TestNamespaceIsWaitedFor(t *testing.T) {
	b := newBench(t)
	namespace := b.object("{apiVersion: v1, kind: Namespace, metadata: {name: 'x-%[1]s'}}")
	applied := b.apply("", nil, manage(namespace))

	progress, err := b.Delete(t.Context(), applied.Managed, nil)

	require.NoError(t, err)
	assert.False(t, progress.Done())
	b.awaitGone(namespace)
	b.delete(applied.Managed, nil)
}

func TestAnnotateAndPatchBeforeDelete(t *testing.T) {
	b := newBench(t)
	applied := b.apply("", nil, resources.Desired{Policy: "manage", Object: b.object(held),
		AnnotateBeforeDelete: map[string]string{"confirm": "yes"}, PatchBeforeDelete: &runtime.RawExtension{Raw: []byte(`{"data":{"last":"words"}}`)}})

	progress, err := b.Delete(t.Context(), applied.Managed, nil)

	require.NoError(t, err)
	assert.False(t, progress.Done())
	live := b.live(b.object(held))
	assert.Equal(t, "yes", live.GetAnnotations()["confirm"])
	assert.Equal(t, map[string]string{"last": "words"}, data(live))
	assert.NotNil(t, live.GetDeletionTimestamp())
	b.change(b.object(held), "metadata: {finalizers: null}")
}

func TestObjectsOfOthersStay(t *testing.T) {
	for name, takeOver := range map[string]func(b *bench, object *unstructured.Unstructured){
		"taken over by another item": func(b *bench, object *unstructured.Unstructured) {
			b.change(object, "metadata: {labels: {manifest.deployer.landscaper.gardener.cloud/deployitem: another}}")
		},
		"taken over by an item of the same name": func(b *bench, object *unstructured.Unstructured) {
			b.change(object, "metadata: {annotations: {"+resources.OwnerUIDAnnotation+": another}}")
		},
		"made anew by somebody": func(b *bench, object *unstructured.Unstructured) {
			require.NoError(b.t, platform.Shared(b.t).Client().Delete(b.t.Context(), object.DeepCopy()))
			b.put(object)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			object := b.configMap("one", "a", "1")
			applied := b.apply("", nil, manage(object))
			takeOver(b, object)

			b.delete(applied.Managed, nil)

			assert.True(t, b.exists(object))
		})
	}
}

func TestRecordsWithoutUIDAreDeletedByTheirLabel(t *testing.T) {
	b := newBench(t)
	labelled, unlabelled := b.configMap("labelled", "a", "1"), b.configMap("unlabelled", "a", "1")
	labelled.SetLabels(map[string]string{v1alpha1.ManifestDeployItemLabel: resources.LabelValue(b.Owner.Item)})
	b.put(labelled)
	b.put(unlabelled)
	b.delete([]managedresource.ManagedResourceStatus{managed("", labelled), managed("", unlabelled)}, nil)
	assert.False(t, b.exists(labelled))
	assert.True(t, b.exists(unlabelled))
}

func TestD07DefinitionIsWaitedFor(t *testing.T) {
	b := newBench(t)
	group := b.namespace + ".example.com"
	definition := b.object(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: 'things.%[1]s.example.com'},
spec: {group: '%[1]s.example.com', names: {kind: Thing, plural: things}, scope: Namespaced,
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	thing := b.object("{apiVersion: '%[1]s.example.com/v1', kind: Thing, metadata: {name: held, namespace: %[1]s, finalizers: [example.com/hold]}}")
	applied := b.apply("", nil, manage(definition)).Managed
	waitFor(t, definition, func(live *unstructured.Unstructured) bool { return resources.NotReady(live) == "" })
	served := func() bool { // discovery lags behind the condition
		_, err := b.Apply(t.Context(), []resources.Desired{manage(thing)}, resources.ApplyOptions{})
		return err == nil
	}
	require.Eventually(t, served, time.Minute, 10*time.Millisecond)

	progress, err := b.Delete(t.Context(), applied, nil)

	require.NoError(t, err)
	assert.Contains(t, progress.Waiting(), "CustomResourceDefinition things."+group+" is still there")
	b.change(thing, "metadata: {finalizers: null}")
	b.awaitGone(definition)
	b.delete(applied, nil)
}
