// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const fixed = "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, immutable: true, data: {a: 'VERSION'}}"

const claimed = `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: one, namespace: %[1]s},
spec: {accessModes: [ReadWriteOnce], storageClassName: 'VERSION', resources: {requests: {storage: 1Gi}}}}`

func TestImmutableFields(t *testing.T) {
	annotated := func(name, value string) map[string]string { return map[string]string{name: value} }
	for name, test := range map[string]struct {
		text        string
		onImmutable managedresource.OnImmutable
		annotations map[string]string
		recreated   bool
		problem     string
	}{
		"fail by default":      {text: fixed, problem: "data cannot be changed: restore the fields in the manifest, or set onImmutable: Recreate"},
		"fail":                 {text: fixed, onImmutable: "Fail", problem: "data cannot be changed"},
		"recreate":             {text: fixed, onImmutable: "Recreate", recreated: true},
		"one object":           {text: fixed, annotations: annotated(managedresource.ForceAnnotation, "enabled"), recreated: true},
		"not to be deleted":    {text: fixed, onImmutable: "Recreate", annotations: annotated(managedresource.PruneAnnotation, "disabled"), problem: "its annotations keep it from being deleted"},
		"data":                 {text: claimed, onImmutable: "Recreate", problem: "a PersistentVolumeClaim takes data or other objects with it"},
		"data with consent":    {text: claimed, annotations: annotated(managedresource.ForceAnnotation, "Enabled"), recreated: true},
		"not a word from Flux": {text: fixed, annotations: annotated(managedresource.FluxAnnotations+"force", "disabled"), problem: "data cannot be changed"},
	} {
		for _, strategy := range []managedresource.UpdateStrategy{"update", "patch", "apply"} {
			t.Run(name+" by "+string(strategy), func(t *testing.T) {
				b := newBench(t)
				options := resources.ApplyOptions{Strategy: strategy, OnImmutable: test.onImmutable}
				with := func(version string) []resources.Desired {
					object := b.version(test.text, version)
					object.SetAnnotations(test.annotations)
					return []resources.Desired{manage(object)}
				}
				before, err := b.Apply(t.Context(), with("1"), options)
				require.NoError(t, err)
				options.Known = before.Managed

				applied, err := b.Apply(t.Context(), with("2"), options)

				if test.problem != "" {
					require.ErrorContains(t, err, test.problem)
					assert.Equal(t, before.Managed[0].Resource.UID, b.live(with("2")[0].Object).GetUID())
					return
				}
				require.NoError(t, err)
				if !applied.Progress.Done() {
					b.release(with("2")[0].Object)
					applied = b.applyWith(options, with("2"))
				}
				assert.NotEqual(t, before.Managed[0].Resource.UID, applied.Managed[0].Resource.UID)
				assert.Equal(t, applied.Managed[0].Resource.UID, b.live(with("2")[0].Object).GetUID())
			})
		}
	}
}

// release takes the finalizers off an object that is being deleted and waits until it is gone.
func (b *bench) release(object *unstructured.Unstructured) {
	b.t.Helper()
	live := object.DeepCopy()
	err := platform.Shared(b.t).Client().Patch(b.t.Context(), live, crclient.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	require.NoError(b.t, crclient.IgnoreNotFound(err))
	b.awaitGone(object)
}

func (b *bench) applyWith(options resources.ApplyOptions, desired []resources.Desired) resources.Applied {
	b.t.Helper()
	applied, err := b.Apply(b.t.Context(), desired, options)
	require.NoError(b.t, err)
	require.True(b.t, applied.Progress.Done(), applied.Progress.Waiting())
	return applied
}

func TestAnInvalidObjectIsNotDeletedToBeMadeAnew(t *testing.T) {
	b := newBench(t)
	text := `{apiVersion: batch/v1, kind: Job, metadata: {name: one, namespace: %[1]s}, spec: {suspend: true, template: {spec: {
restartPolicy: VERSION, containers: [{name: one, image: example.com/one}]}}}}`
	known := b.apply(serverSideApply, nil, manage(b.version(text, "Never"))).Managed

	_, err := b.Apply(t.Context(), []resources.Desired{manage(b.version(text, "Always"))}, resources.ApplyOptions{Strategy: serverSideApply, OnImmutable: "Recreate", Known: known})

	require.Error(t, err)
	assert.Equal(t, known[0].Resource.UID, b.live(b.version(text, "Never")).GetUID())
}

func TestObjectsOfSomebodyElseAreNotMadeAnew(t *testing.T) {
	b := newBench(t)
	before := b.put(b.version(fixed, "1"))

	_, err := b.Apply(t.Context(), []resources.Desired{manage(b.version(fixed, "2"))}, resources.ApplyOptions{Strategy: serverSideApply, OnImmutable: "Recreate"})

	require.ErrorContains(t, err, "the object was made by somebody else")
	assert.Equal(t, before.GetUID(), b.live(before).GetUID())
}
