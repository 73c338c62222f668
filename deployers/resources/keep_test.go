// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// byOthers is what controllers and admission do to objects of a kind between two writes.
var byOthers = map[string]struct {
	manifest string
	// patch is sent by a controller, to the subresource if there is one.
	patch, subresource string
	// field has to hold value after the next write.
	field []string
	value any
}{
	"volume of a claim": {
		manifest: `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: %[1]s, labels: {v: VERSION}},
spec: {storageClassName: fast, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
		patch: "spec: {volumeName: pv-1}", field: []string{"spec", "volumeName"}, value: "pv-1",
	},
	"fields of a Pod": {
		manifest: `{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: %[1]s, labels: {v: VERSION}},
spec: {containers: [{name: web, image: example.com/web, volumeMounts: [{name: own, mountPath: /own}]}], volumes: [{name: own, emptyDir: {}}]}}`,
		field: []string{"spec", "serviceAccountName"}, value: "default",
	},
	"replicas of an autoscaler": {
		manifest: deploymentWithout, patch: "spec: {replicas: 3}", subresource: "scale", field: []string{"spec", "replicas"}, value: int64(3),
	},
	"replicas of an autoscaler against the manifest": {
		manifest: strings.Replace(deploymentWithout, "spec: {selector", "spec: {replicas: 1, selector", 1),
		patch:    "spec: {replicas: 3}", subresource: "scale", field: []string{"spec", "replicas"}, value: int64(3),
	},
	"address of a Service": {
		manifest: `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %[1]s, labels: {v: VERSION}}, spec: {type: NodePort, ports: [{port: 80}]}}`,
		field:    []string{"spec", "sessionAffinity"}, value: "None",
	},
	"annotation of a controller": {
		manifest: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s, labels: {v: VERSION}, annotations: {own: x}}}`,
		patch:    "metadata: {annotations: {theirs: z}}", field: []string{"metadata", "annotations", "theirs"}, value: "z",
	},
}

// deploymentWithout is a Deployment without replicas.
const deploymentWithout = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: %[1]s, labels: {v: VERSION}},
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: example.com/web}]}}}}`

func TestD06ValuesOfOthersAreKept(t *testing.T) {
	for name, test := range byOthers {
		for _, strategy := range []managedresource.UpdateStrategy{"update", "patch"} {
			t.Run(name+" by "+string(strategy), func(t *testing.T) {
				b := newBench(t)
				b.awaitAccount()
				first := b.apply(strategy, nil, manage(b.version(test.manifest, "one"))).Managed
				if test.patch != "" {
					b.patchAs("some-controller", b.version(test.manifest, "one"), test.patch, test.subresource)
				}

				b.apply(strategy, first, manage(b.version(test.manifest, "two")))

				live := b.live(b.version(test.manifest, "two"))
				assert.Equal(t, "two", live.GetLabels()["v"])
				value, _, err := unstructured.NestedFieldNoCopy(live.Object, test.field...)
				require.NoError(t, err)
				assert.Equal(t, test.value, value)
			})
		}
	}
}

func TestD06InjectedBundleIsKept(t *testing.T) {
	const manifest = `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: '%[1]s', labels: {v: VERSION}},
webhooks: [{name: one.example.com, failurePolicy: Ignore, sideEffects: None, admissionReviewVersions: [v1], rules: [],
  clientConfig: {service: {name: x, namespace: z}}}]}`
	b := newBench(t)
	first := b.apply("", nil, manage(b.version(manifest, "one"))).Managed
	b.patchJSON("some-controller", b.version(manifest, "one"), `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"Y2E="}]`)

	b.apply("", first, manage(b.version(manifest, "two")))

	webhooks, _, err := unstructured.NestedSlice(b.live(b.version(manifest, "two")).Object, "webhooks")
	require.NoError(t, err)
	assert.Equal(t, "Y2E=", webhooks[0].(map[string]any)["clientConfig"].(map[string]any)["caBundle"])
	b.delete(first, nil)
}

func TestD06BoundClaimOfNobodyIsTakenOver(t *testing.T) {
	b := newBench(t)
	claim := byOthers["volume of a claim"].manifest
	b.put(b.version(claim, "one"))
	b.change(b.version(claim, "one"), "spec: {volumeName: pv-1}")

	b.apply("", nil, manage(b.version(claim, "two")))

	live := b.live(b.version(claim, "two"))
	assert.Equal(t, "two", live.GetLabels()["v"])
	volume, _, err := unstructured.NestedString(live.Object, "spec", "volumeName")
	require.NoError(t, err)
	assert.Equal(t, "pv-1", volume)
}

func TestD06RepeatedWritesStandStill(t *testing.T) {
	for name, test := range byOthers {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.awaitAccount()
			first := b.apply("", nil, manage(b.version(test.manifest, "one"))).Managed
			if test.patch != "" {
				b.patchAs("some-controller", b.version(test.manifest, "one"), test.patch, test.subresource)
			}
			known := b.apply("", first, manage(b.version(test.manifest, "two"))).Managed
			generation := b.live(b.version(test.manifest, "two")).GetGeneration()
			b.Memory = nil

			b.apply("", known, manage(b.version(test.manifest, "two")))

			assert.Equal(t, generation, b.live(b.version(test.manifest, "two")).GetGeneration())
		})
	}
}

func TestChangesByHandGo(t *testing.T) {
	b := newBench(t)
	known := b.apply("", nil, manage(b.configMap("a", "own", "1"))).Managed
	b.patchAs("kubectl-edit", b.configMap("a", "own", "1"), "data: {own: changed, more: x}", "")

	b.apply("", known, manage(b.configMap("a", "own", "1")))

	assert.Equal(t, map[string]string{"own": "1"}, data(b.live(b.configMap("a", "own", "1"))))
}

// awaitAccount waits for the ServiceAccount that every Pod needs.
func (b *bench) awaitAccount() {
	b.t.Helper()
	waitFor(b.t, b.object("{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: %[1]s}}"),
		func(live *unstructured.Unstructured) bool { return live.GetUID() != "" })
}

// patchAs sends a merge patch as a field manager.
func (b *bench) patchAs(manager string, object *unstructured.Unstructured, patch, subresource string) {
	b.t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(patch))
	require.NoError(b.t, err)
	b.patchRaw(manager, object, types.MergePatchType, raw, subresource)
}

func (b *bench) patchJSON(manager string, object *unstructured.Unstructured, patch string) {
	b.t.Helper()
	b.patchRaw(manager, object, types.JSONPatchType, []byte(patch), "")
}

func (b *bench) patchRaw(manager string, object *unstructured.Unstructured, kind types.PatchType, raw []byte, subresource string) {
	b.t.Helper()
	mapped, err := lookup(b.t.Context(), b.Cluster, object.GroupVersionKind())
	require.NoError(b.t, err)
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	}
	_, err = client(b.Cluster, mapped, object.GetNamespace()).Patch(b.t.Context(), object.GetName(), kind, raw,
		metav1.PatchOptions{FieldManager: manager}, subresources...)
	require.NoError(b.t, err)
}

// written returns an object with managed fields, given as manager: fields.
func written(t testing.TB, text string, managers map[string]string) *unstructured.Unstructured {
	t.Helper()
	object := parse(t, text)
	var entries []metav1.ManagedFieldsEntry
	for manager, fields := range managers {
		entry := metav1.ManagedFieldsEntry{Manager: strings.TrimSuffix(manager, "/scale"), FieldsType: "FieldsV1", Operation: "Update",
			FieldsV1: metav1.NewFieldsV1(fields)}
		if strings.HasSuffix(manager, "/scale") {
			entry.Subresource = "scale"
		}
		entries = append(entries, entry)
	}
	object.SetManagedFields(entries)
	return object
}

// keepCases are an object, a manifest for it and what is written, beside the fields of each manager of the object.
var keepCases = map[string]struct {
	live, manifest, want string
	managers             map[string]string
}{
	"field that left the manifest": {
		live: "{kind: A, spec: {a: 1, b: 2}}", manifest: "{kind: A, spec: {a: 1}}", want: "{kind: A, spec: {a: 1}}",
		managers: map[string]string{FieldManager: `{"f:spec":{"f:a":{},"f:b":{}}}`},
	},
	"field of a controller": {
		live: "{kind: A, spec: {a: 1, b: 2}}", manifest: "{kind: A, spec: {a: 1}}", want: "{kind: A, spec: {a: 1, b: 2}}",
		managers: map[string]string{FieldManager: `{"f:spec":{"f:a":{}}}`, "other": `{"f:spec":{"f:b":{}}}`},
	},
	"field of nobody": {
		live: "{kind: A, spec: {a: 1, b: 2}}", manifest: "{kind: A, spec: {a: 1}}", want: "{kind: A, spec: {a: 1, b: 2}}",
		managers: map[string]string{FieldManager: `{"f:spec":{"f:a":{}}}`},
	},
	"field of both": {
		live: "{kind: A, spec: {a: 1, b: 2}}", manifest: "{kind: A, spec: {a: 1}}", want: "{kind: A, spec: {a: 1, b: 2}}",
		managers: map[string]string{FieldManager: `{"f:spec":{"f:a":{},"f:b":{}}}`, "other": `{"f:spec":{"f:b":{}}}`},
	},
	"map shared with a controller": {
		live: "{kind: A, m: {a: 1, b: 2}}", manifest: "{kind: A}", want: "{kind: A, m: {b: 2}}",
		managers: map[string]string{FieldManager: `{"f:m":{".":{},"f:a":{}}}`, "other": `{"f:m":{"f:b":{}}}`},
	},
	"value of the manifest": {
		live: "{kind: A, a: 2}", manifest: "{kind: A, a: 1}", want: "{kind: A, a: 1}",
		managers: map[string]string{FieldManager: `{}`, "other": `{"f:a":{}}`},
	},
	"value through a subresource": {
		live: "{kind: A, a: 2}", manifest: "{kind: A, a: 1}", want: "{kind: A, a: 2}",
		managers: map[string]string{FieldManager: `{}`, "other/scale": `{"f:a":{}}`},
	},
	"value through a subresource by hand": {
		live: "{kind: A, a: 2}", manifest: "{kind: A, a: 1}", want: "{kind: A, a: 1}",
		managers: map[string]string{FieldManager: `{}`, "kubectl/scale": `{"f:a":{}}`},
	},
	"value through a subresource by hand that the manifest leaves open": {
		live: "{kind: A, a: 2}", manifest: "{kind: A}", want: "{kind: A, a: 2}",
		managers: map[string]string{FieldManager: `{}`, "kubectl/scale": `{"f:a":{}}`},
	},
	"map that is one value": {
		live: "{kind: A, m: {a: 1, b: 2}}", manifest: "{kind: A, m: {a: 1}}", want: "{kind: A, m: {a: 1}}",
		managers: map[string]string{FieldManager: `{"f:m":{}}`},
	},
	"list that is one value": {
		live: "{kind: A, l: [1, 2]}", manifest: "{kind: A, l: [1]}", want: "{kind: A, l: [1]}",
		managers: map[string]string{FieldManager: `{"f:l":{}}`},
	},
	"items of a list": {
		live: "{kind: A, l: [{id: theirs}, {id: mine, x: 1}, {id: gone}]}", manifest: "{kind: A, l: [{id: mine}, {id: new}]}",
		want: "{kind: A, l: [{id: theirs}, {id: mine, x: 1}, {id: new}]}",
		managers: map[string]string{FieldManager: `{"f:l":{"k:{\"id\":\"mine\"}":{".":{},"f:id":{}},"k:{\"id\":\"gone\"}":{".":{},"f:id":{}}}}`,
			"other": `{"f:l":{"k:{\"id\":\"theirs\"}":{".":{},"f:id":{}}}}`},
	},
	"items whose order the manifest changes": {
		live: "{kind: A, l: [{id: a}, {id: b}, {id: c}]}", manifest: "{kind: A, l: [{id: b}, {id: a}]}", want: "{kind: A, l: [{id: b}, {id: a}, {id: c}]}",
		managers: map[string]string{FieldManager: `{"f:l":{"k:{\"id\":\"a\"}":{},"k:{\"id\":\"b\"}":{}}}`},
	},
	"items with a key that has a default": {
		live: "{kind: A, l: [{id: 80, p: TCP, x: 1}]}", manifest: "{kind: A, l: [{id: 80}]}", want: "{kind: A, l: [{id: 80, p: TCP, x: 1}]}",
		managers: map[string]string{FieldManager: `{"f:l":{"k:{\"id\":80,\"p\":\"TCP\"}":{".":{},"f:id":{}}}}`},
	},
	"values of a set": {
		live: "{kind: A, l: [mine, theirs, gone]}", manifest: "{kind: A, l: [mine]}", want: "{kind: A, l: [mine, theirs]}",
		managers: map[string]string{FieldManager: `{"f:l":{"v:\"mine\"":{},"v:\"gone\"":{}}}`, "other": `{"f:l":{"v:\"theirs\"":{}}}`},
	},
	"object that was never written": {
		live: "{kind: A, a: 1}", manifest: "{kind: A}", want: "{kind: A}", managers: map[string]string{"other": `{"f:a":{}}`},
	},
	"changes by hand": {
		live: "{kind: A, a: 1}", manifest: "{kind: A}", want: "{kind: A}",
		managers: map[string]string{FieldManager: `{}`, "kubectl-edit": `{"f:a":{}}`},
	},
	"status and server fields": {
		live: "{kind: A, metadata: {uid: u, name: x}, status: {a: 1}}", manifest: "{kind: A, metadata: {name: x}}", want: "{kind: A, metadata: {name: x}}",
		managers: map[string]string{FieldManager: `{}`},
	},
}

func TestKeepOfOthers(t *testing.T) {
	for name, test := range keepCases {
		t.Run(name, func(t *testing.T) {
			next := parse(t, test.manifest)
			keepOfOthers(next, written(t, test.live, test.managers))
			if metadata, _ := next.Object["metadata"].(map[string]any); len(metadata) == 0 {
				delete(next.Object, "metadata")
			}
			assert.Equal(t, parse(t, test.want), next)
		})
	}
}

func FuzzKeepOfOthers(f *testing.F) {
	f.Add("{kind: A, l: [{id: a}, {id: b}]}", "{kind: A, l: [{id: b}]}", `{"f:l":{"k:{\"id\":\"a\"}":{}}}`, `{"f:l":{"v:1":{}}}`)
	f.Add("{kind: A, a: {b: 1}}", "{kind: A}", `{"f:a":{".":{}}}`, `{"k:x":1}`)
	f.Fuzz(func(t *testing.T, live, manifest, ours, theirs string) {
		a, b := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(live), &a.Object) != nil || yaml.Unmarshal([]byte(manifest), &b.Object) != nil || a.Object == nil || b.Object == nil {
			return
		}
		if _, err := json.Marshal(a.Object); err != nil {
			return
		}
		if _, isMap := a.Object["metadata"].(map[string]any); !isMap {
			delete(a.Object, "metadata")
		}
		a.SetManagedFields([]metav1.ManagedFieldsEntry{
			{Manager: FieldManager, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(ours)}, {Manager: "x", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(theirs)},
		})
		once := b.DeepCopy()
		keepOfOthers(once, a)
		for key := range b.Object {
			require.Contains(t, once.Object, key, "what is wanted stays")
		}
	})
}
