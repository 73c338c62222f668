// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const serverSideApply = managedresource.UpdateStrategyApply

// writer writes an object under the name of a field manager, by update or by apply.
func (b *bench) writer(object *unstructured.Unstructured, manager string, operation metav1.ManagedFieldsOperationType) {
	b.t.Helper()
	client, config := platform.Shared(b.t).Client(), object.DeepCopy()
	if operation == metav1.ManagedFieldsOperationApply {
		require.NoError(b.t, client.Apply(b.t.Context(), crclient.ApplyConfigurationFromUnstructured(config), crclient.FieldOwner(manager), crclient.ForceOwnership))
		return
	}
	if !b.exists(object) {
		require.NoError(b.t, client.Create(b.t.Context(), config, crclient.FieldOwner(manager)))
		return
	}
	live := b.live(object)
	resources.MergeInto(live.Object, config.Object, true)
	require.NoError(b.t, client.Update(b.t.Context(), live, crclient.FieldOwner(manager)))
}

func TestApplyMakesNewObjectsTheFieldManagersOwn(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")

	b.apply(serverSideApply, nil, manage(object))

	live := b.live(object)
	require.Len(t, live.GetManagedFields(), 1)
	assert.Equal(t, resources.FieldManager, live.GetManagedFields()[0].Manager)
	assert.Equal(t, metav1.ManagedFieldsOperationApply, live.GetManagedFields()[0].Operation)
	assert.True(t, b.Owner.Labelled(live))
}

func TestUnchangedApplyWritesNothing(t *testing.T) {
	for name, text := range map[string]string{
		"configmap": "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: b}}",
		"template":  podTemplate,
		"secret":    "{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: %[1]s}, stringData: {a: b}}",
		"service":   "{apiVersion: v1, kind: Service, metadata: {name: one, namespace: %[1]s}, spec: {ports: [{port: 80}], selector: {a: b}}}",
		"claim": "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: one, namespace: %[1]s}, " +
			"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}}",
	} {
		for memory, m := range map[string]*resources.Memory{"with memory": resources.NewMemory(0), "without": nil} {
			t.Run(name+" "+memory, func(t *testing.T) {
				b := newBench(t)
				b.Memory = m
				object := b.object(text)
				known := b.apply(serverSideApply, nil, manage(object)).Managed
				before := b.live(object)
				b.sent()

				b.apply(serverSideApply, known, manage(b.object(text)))

				assert.Equal(t, before.GetResourceVersion(), b.live(object).GetResourceVersion())
				assert.Equal(t, map[bool][]string{true: {"GET"}, false: {"GET", "PATCH"}}[m != nil], b.sent(), "the PATCH is the dry run")
			})
		}
	}
}

func TestApplyRemovesWhatLeavesTheManifestAndKeepsWhatOthersAdded(t *testing.T) {
	b := newBench(t)
	known := b.apply(serverSideApply, nil, manage(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: '1', b: '2'}}"))).Managed
	b.writer(b.configMap("one", "other", "3"), "another-controller", metav1.ManagedFieldsOperationUpdate)

	b.apply(serverSideApply, known, manage(b.configMap("one", "a", "1")))

	assert.Equal(t, map[string]string{"a": "1", "other": "3"}, data(b.live(b.configMap("one", "a", ""))))
}

func TestApplyTakesOverTheFieldsOfEarlierWriters(t *testing.T) {
	for name, write := range map[string]func(b *bench, object *unstructured.Unstructured){
		"strategy update": func(b *bench, object *unstructured.Unstructured) { b.apply("update", nil, manage(object)) },
		"strategy patch":  func(b *bench, object *unstructured.Unstructured) { b.apply("patch", nil, manage(object)) },
		"gardener landscaper": func(b *bench, object *unstructured.Unstructured) {
			b.writer(object, "manifest-deployer-controller", "Update")
		},
		"kubectl create": func(b *bench, object *unstructured.Unstructured) { b.writer(object, "kubectl-create", "Update") },
		"kubectl apply": func(b *bench, object *unstructured.Unstructured) {
			b.writer(object, "kubectl-client-side-apply", "Update")
		},
		"kubectl server side": func(b *bench, object *unstructured.Unstructured) { b.writer(object, "kubectl", "Apply") },
	} {
		for _, conflicts := range []managedresource.OnConflict{"Force", "Fail"} {
			t.Run(fmt.Sprintf("%s, %s", name, conflicts), func(t *testing.T) {
				b := newBench(t)
				write(b, b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: old, gone: '2'}}"))
				object := b.configMap("one", "a", "1")

				_, err := b.Apply(t.Context(), []resources.Desired{manage(object)}, resources.ApplyOptions{Strategy: serverSideApply, OnConflict: conflicts})

				require.NoError(t, err)
				live := b.live(object)
				assert.Equal(t, map[string]string{"a": "1"}, data(live))
				assert.Len(t, live.GetManagedFields(), 1)
			})
		}
	}
}

func TestTakeoverGoesOnAfterTheProcessDied(t *testing.T) {
	b := newBench(t)
	b.apply("update", nil, manage(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: '1', gone: '2'}}")))
	object := b.configMap("one", "a", "1")
	live := b.live(object)
	moved, err := resources.TakeoverOf(live, false)
	require.NoError(t, err)
	patch, err := moved.Patch(live)
	require.NoError(t, err)
	require.NoError(t, platform.Shared(t).Client().Patch(t.Context(), live, crclient.RawPatch("application/json-patch+json", patch)))

	b.apply(serverSideApply, nil, manage(object))

	assert.Equal(t, map[string]string{"a": "1"}, data(b.live(object)))
}

func TestApplyMergeKeepsTheFieldsOfKubectl(t *testing.T) {
	b := newBench(t)
	b.writer(b.object("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: old, kept: '2'}}"), "kubectl-edit", "Update")
	object := b.configMap("one", "a", "1")
	object.SetAnnotations(map[string]string{managedresource.FluxAnnotations + "ssa": "merge"})

	b.apply(serverSideApply, nil, manage(object))

	assert.Equal(t, map[string]string{"a": "1", "kept": "2"}, data(b.live(object)))
}

func TestConflictsNameObjectFieldAndManager(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")
	known := b.apply(serverSideApply, nil, manage(object)).Managed
	b.writer(b.configMap("one", "a", "theirs"), "another-controller", "Update")

	applied, err := b.Apply(t.Context(), []resources.Desired{manage(object), manage(b.configMap("two", "a", "1"))},
		resources.ApplyOptions{Strategy: serverSideApply, OnConflict: "Fail", Known: known})

	require.ErrorContains(t, err, "cannot apply ConfigMap "+b.namespace+"/one: .data.a is set by \"another-controller\"; remove the fields from the manifest")
	assert.Equal(t, map[string]string{"a": "theirs"}, data(b.live(object)))
	assert.False(t, b.exists(b.configMap("two", "a", "")), "nothing is half-applied")
	assert.Len(t, applied.Refused, 1)
	object.SetAnnotations(map[string]string{managedresource.SSAAnnotation: "Override"})
	_, err = b.Apply(t.Context(), []resources.Desired{manage(object)}, resources.ApplyOptions{Strategy: serverSideApply, OnConflict: "Fail", Known: known})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "1"}, data(b.live(object)))
}

func TestNothingIsAppliedWhenOneObjectIsInvalid(t *testing.T) {
	b := newBench(t)
	bad := b.object("{apiVersion: v1, kind: Service, metadata: {name: bad, namespace: %[1]s}, spec: {ports: [{port: 100000}]}}")

	applied, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("good", "a", "1")), manage(bad)}, resources.ApplyOptions{Strategy: serverSideApply})

	require.ErrorContains(t, err, "cannot create Service "+b.namespace+"/bad")
	assert.False(t, b.exists(b.configMap("good", "a", "")))
	assert.Empty(t, applied.Managed)
	assert.Len(t, applied.Refused, 2)
}

func TestApplyBringsDefinitionsNamespacesAndWhatNeedsThem(t *testing.T) {
	b := newBench(t)
	namespace := b.object("{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s-new}}")
	definition := b.object(`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: things.%[1]s.example.com},
spec: {group: %[1]s.example.com, scope: Namespaced, names: {kind: Thing, plural: things, singular: thing, listKind: ThingList},
versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`)
	thing := b.object("{apiVersion: %[1]s.example.com/v1, kind: Thing, metadata: {name: one, namespace: %[1]s-new}, spec: {a: 1}}")
	desired := []resources.Desired{manage(thing), manage(namespace), manage(definition)}

	applied, err := b.Apply(t.Context(), desired, resources.ApplyOptions{Strategy: serverSideApply})
	require.NoError(t, err)
	if !applied.Progress.Done() {
		require.NoError(t, platform.Shared(t).Await(t.Context(), definition.DeepCopy(), func() bool { return resources.HasCondition(b.live(definition), "Established", "True") }))
		b.apply(serverSideApply, applied.Managed, desired...)
	}

	assert.True(t, b.exists(thing))
	t.Cleanup(func() { _ = platform.Shared(t).Client().Delete(background(), definition) })
}

func TestApplyLeavesObjectsOfOthersAlone(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "theirs")
	b.markAs(object, resources.Owner{Item: "another", Namespace: "elsewhere", UID: "another"})
	b.put(object)

	_, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("one", "a", "1"))}, resources.ApplyOptions{Strategy: serverSideApply})

	require.ErrorContains(t, err, "it belongs to DeployItem another")
	assert.Equal(t, map[string]string{"a": "theirs"}, data(b.live(object)))
}

func TestAnnotationsOfTheCreateStay(t *testing.T) {
	b := newBench(t)
	desired := manage(b.configMap("one", "a", "1"))
	desired.AnnotateBeforeCreate = map[string]string{"example.com/created": "first"}
	known := b.apply(serverSideApply, nil, desired).Managed
	desired.Object = b.configMap("one", "a", "2")
	desired.AnnotateBeforeCreate = map[string]string{"example.com/created": "second"}

	b.apply(serverSideApply, known, desired)

	live := b.live(desired.Object)
	assert.Equal(t, "first", live.GetAnnotations()["example.com/created"])
	assert.Equal(t, map[string]string{"a": "2"}, data(live))
}

func TestKeysThatLeaveTheStringDataOfASecretVanish(t *testing.T) {
	b := newBench(t)
	text := "{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: %[1]s}, stringData: VERSION}"
	known := b.apply(serverSideApply, nil, manage(b.version(text, "{a: x, b: z}"))).Managed

	b.apply(serverSideApply, known, manage(b.version(text, "{a: x}")))

	assert.Equal(t, map[string]string{"a": "eA=="}, data(b.live(b.version(text, "{}"))))
}

func TestWrongTypesAreNamedWithoutTheValue(t *testing.T) {
	for name, text := range map[string]string{
		"secret":    "{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: %[1]s}, stringData: {pin: 4711}}",
		"configmap": "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {pin: 4711}}",
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)

			_, err := b.Apply(t.Context(), []resources.Desired{manage(b.object(text)), manage(b.configMap("two", "a", "1"))}, resources.ApplyOptions{Strategy: serverSideApply})

			require.ErrorContains(t, err, "pin")
			assert.NotContains(t, err.Error(), "4711")
			assert.False(t, b.exists(b.configMap("two", "a", "")))
		})
	}
}
