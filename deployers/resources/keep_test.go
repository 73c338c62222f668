// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// byOthers is what controllers and admission do to objects of a kind between two writes.
var byOthers = map[string]struct {
	manifest string
	// Patch is sent by a controller, to the subresource if there is one.
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
	mapped, err := resources.Lookup(b.t.Context(), b.Cluster, object.GroupVersionKind())
	require.NoError(b.t, err)
	var subresources []string
	if subresource != "" {
		subresources = []string{subresource}
	}
	_, err = resources.Client(b.Cluster, mapped, object.GetNamespace()).Patch(b.t.Context(), object.GetName(), kind, raw,
		metav1.PatchOptions{FieldManager: manager}, subresources...)
	require.NoError(b.t, err)
}
