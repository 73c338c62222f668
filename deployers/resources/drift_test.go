// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// webDeployment has defaults, a list with keys, a quantity that the API server writes in another way, and a list that is one value.
const webDeployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: %[1]s}, spec: {selector: {matchLabels: {app: web}},
template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: example.com/web, args: [a, b], env: [{name: E, value: x}],
resources: {requests: {cpu: 1000m}}}]}}}}`

const (
	oneMap    = `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s, labels: {l/l: v}}, data: {a: '1', b: '2'}}`
	oneSecret = `{apiVersion: v1, kind: Secret, metadata: {name: one, namespace: %[1]s}, stringData: {password: very-secret}}`
)

func (b *bench) drift(desired resources.Desired, options resources.DriftOptions) contract.Drift {
	b.t.Helper()
	ref := resources.ReferenceTo(desired.Object)
	options.Objects = []managedresource.ResourceReference{ref}
	found, err := resources.FindDrift(b.t.Context(), b.Session, []resources.Desired{desired}, options)
	require.NoError(b.t, err)
	require.Len(b.t, found, 1)
	return found[0]
}

func always(managedresource.ResourceReference) bool { return true }

func TestASearchForDriftKeepsNoWholeObjects(t *testing.T) {
	b := newBench(t)
	object := b.object(oneMap)
	b.apply("", nil, manage(object))
	live := b.live(object)
	drift := b.drift(manage(object), resources.DriftOptions{})
	assert.NotContains(t, fmt.Sprintf("%T", drift.Live), "unstructured")
	assert.Equal(t, live.GetResourceVersion(), drift.Live.GetResourceVersion())
	assert.Equal(t, live.GetManagedFields(), drift.Live.GetManagedFields(), "changes are told by them")
	assert.Empty(t, drift.Live.GetLabels())
}

func TestDriftIsFound(t *testing.T) {
	for name, tc := range map[string]struct {
		manifest, change string
		want             []string
	}{
		"nothing":                  {oneMap, "", nil},
		"value":                    {oneMap, "data: {a: x}", []string{"/data/a"}},
		"label with a slash":       {oneMap, "metadata: {labels: {l/l: x}}", []string{"/metadata/labels/l~1l"}},
		"removed value":            {oneMap, "data: {a: null}", []string{"/data/a"}},
		"removed map":              {oneMap, "data: null", []string{"/data"}},
		"field of somebody else":   {oneMap, "{data: {other: x}, metadata: {labels: {other: x}, annotations: {other: x}}}", nil},
		"Secret":                   {oneSecret, "data: {password: eA==}", []string{"/data/password"}},
		"unchanged Secret":         {oneSecret, "", nil},
		"defaults":                 {webDeployment, "", nil},
		"field that is not wanted": {webDeployment, "spec: {replicas: 3, minReadySeconds: 5}", nil},
		"item of a list": {webDeployment, "spec: {template: {spec: {containers: [{name: web, image: example.com/other, args: [a, b], env: [{name: E, value: x}], resources: {requests: {cpu: 1}}}]}}}",
			[]string{"/spec/template/spec/containers/0/image"}},
		"sidecar of somebody else": {webDeployment, "spec: {template: {spec: {containers: [{name: side, image: example.com/side}, {name: web, image: example.com/web, args: [a, b], env: [{name: E, value: x}, {name: F, value: z}], resources: {requests: {cpu: 1}}}]}}}",
			nil},
		"list that is one value": {webDeployment, "spec: {template: {spec: {containers: [{name: web, image: example.com/web, args: [a], env: [{name: E, value: x}], resources: {requests: {cpu: 1}}}]}}}",
			[]string{"/spec/template/spec/containers/0/args"}},
		"removed item": {webDeployment, "spec: {template: {spec: {containers: [{name: web, image: example.com/web, args: [a, b], resources: {requests: {cpu: 1}}}]}}}",
			[]string{"/spec/template/spec/containers/0/env"}},
		"quantity": {webDeployment, "spec: {template: {spec: {containers: [{name: web, image: example.com/web, args: [a, b], env: [{name: E, value: x}], resources: {requests: {cpu: 2}}}]}}}",
			[]string{"/spec/template/spec/containers/0/resources/requests/cpu"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			object := b.object(tc.manifest)
			b.apply("", nil, manage(object))
			if tc.change != "" {
				b.change(object, tc.change)
			}
			before := b.live(object)
			b.sent()

			drift := b.drift(manage(object), resources.DriftOptions{})

			assert.Equal(t, tc.want, drift.Fields)
			assert.NoError(t, drift.Err)
			if tc.manifest != webDeployment { // its controller may write between read and comparison
				assert.LessOrEqual(t, len(b.sent()), 2)
				assert.Equal(t, before.GetResourceVersion(), b.live(object).GetResourceVersion(), "nothing is written")
			}
			assert.Equal(t, before.GetGeneration(), b.live(object).GetGeneration())

			fixed := b.drift(manage(object), resources.DriftOptions{DriftSearch: contract.DriftSearch{Correct: always}})
			assert.Equal(t, len(tc.want) > 0, fixed.Corrected)
			again := b.drift(manage(object), resources.DriftOptions{})
			assert.Empty(t, again.Fields, "corrected")
		})
	}
}

func TestACorrectionKeepsWhatOthersAdded(t *testing.T) {
	b := newBench(t)
	object := b.object(oneMap)
	b.apply("", nil, manage(object))
	b.change(object, "{data: {a: x, other: z}, metadata: {annotations: {other: z}}}")

	drift := b.drift(manage(object), resources.DriftOptions{DriftSearch: contract.DriftSearch{Correct: always}})

	assert.True(t, drift.Corrected)
	live := b.live(object)
	assert.Equal(t, map[string]string{"a": "1", "b": "2", "other": "z"}, data(live))
	assert.Equal(t, "z", live.GetAnnotations()["other"])
}

func TestIgnoredFieldsStay(t *testing.T) {
	const image = "spec: {replicas: 2, template: {spec: {containers: [{name: web, image: example.com/theirs, args: [x], env: [{name: E, value: x}], resources: {requests: {cpu: 1}}}]}}}"
	for name, tc := range map[string]struct {
		manifest, change string
		rule             managedresource.IgnoreRule
		want             []string
	}{
		"field":        {oneMap, "data: {a: x}", managedresource.IgnoreRule{Paths: []string{"/data/a"}}, nil},
		"map":          {oneMap, "data: {a: x, b: null}", managedresource.IgnoreRule{Paths: []string{"/data"}}, nil},
		"beside":       {oneMap, "data: {a: x, b: z}", managedresource.IgnoreRule{Paths: []string{"/data/b"}}, []string{"/data/a"}},
		"item":         {webDeployment, image, managedresource.IgnoreRule{Paths: []string{"/spec/template/spec/containers/0/image"}}, []string{"/spec/template/spec/containers/0/args"}},
		"other object": {oneMap, "data: {a: x}", managedresource.IgnoreRule{Paths: []string{"/data/a"}, Target: &managedresource.ObjectSelector{Kind: "Secret"}}, []string{"/data/a"}},
		"removed":      {oneMap, "data: {a: null}", managedresource.IgnoreRule{Paths: []string{"/data/a"}}, nil},
		"no field":     {oneMap, "data: {a: x}", managedresource.IgnoreRule{Paths: []string{"/data/a/b/c", "/spec/x", "/data/9"}}, []string{"/data/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			object := b.object(tc.manifest)
			b.apply("", nil, manage(object))
			changed := b.change(object, tc.change)

			drift := b.drift(manage(object), resources.DriftOptions{Ignore: []managedresource.IgnoreRule{tc.rule}, DriftSearch: contract.DriftSearch{Correct: always}})

			require.NoError(t, drift.Err)
			assert.Equal(t, tc.want, drift.Fields)
			if tc.want == nil {
				assert.Equal(t, changed.GetResourceVersion(), b.live(object).GetResourceVersion(), "left alone")
			}
			if name == "item" {
				containers, _, err := unstructured.NestedSlice(b.live(object).Object, "spec", "template", "spec", "containers")
				require.NoError(t, err)
				assert.Equal(t, "example.com/theirs", containers[0].(map[string]any)["image"])
				assert.Equal(t, []any{"a", "b"}, containers[0].(map[string]any)["args"])
			}
		})
	}
}

func TestStrategiesAndPoliciesDecideWhatDriftIs(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy managedresource.UpdateStrategy
		policy   managedresource.ManifestPolicy
		change   string
		want     []string
	}{
		"update":         {"update", "manage", "data: {a: x}", []string{"/data/a"}},
		"patch":          {"patch", "manage", "data: {a: x}", []string{"/data/a"}},
		"mergeOverwrite": {"mergeOverwrite", "manage", "data: {a: x}", []string{"/data/a"}},
		"merge":          {"merge", "manage", "data: {a: x}", nil},
		"merge, emptied": {"merge", "manage", "data: {a: ''}", []string{"/data/a"}},
		"keep":           {"update", "keep", "data: {a: x}", []string{"/data/a"}},
		"fallback":       {"update", "fallback", "data: {a: x}", []string{"/data/a"}},
		"immutable":      {"update", "immutable", "data: {a: x}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			desired := manage(b.object(oneMap))
			desired.Policy = tc.policy
			b.apply(tc.strategy, nil, desired)
			b.change(desired.Object, tc.change)

			assert.Equal(t, tc.want, b.drift(desired, resources.DriftOptions{Strategy: tc.strategy}).Fields)
		})
	}
}

func TestDriftOfObjectsThatAskToBeLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		strategy   managedresource.UpdateStrategy
		annotation string
		drifts     bool
	}{
		"not reconciled":          {"", managedresource.Annotations + "reconcile: disabled", false},
		"created only":            {"", managedresource.Annotations + "ssa: IfNotPresent", false},
		"for Flux, by update":     {"", managedresource.FluxAnnotations + "reconcile: disabled", true},
		"for Flux, by apply":      {managedresource.UpdateStrategyApply, managedresource.FluxAnnotations + "reconcile: disabled", false},
		"asks for something else": {"", managedresource.Annotations + "prune: disabled", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			object := b.object(oneMap)
			b.apply("", nil, manage(object))
			b.change(object, "{data: {a: x}, metadata: {annotations: {"+tc.annotation+"}}}")
			drift := b.drift(manage(object), resources.DriftOptions{Strategy: tc.strategy})
			assert.NoError(t, drift.Err)
			assert.Equal(t, tc.drifts, len(drift.Fields) > 0, "%v", drift.Fields)
		})
	}
}

func TestCorrectedFieldsGoWithTheManifestOfTheNextApply(t *testing.T) {
	b := newBench(t)
	object := b.object(oneMap)
	b.apply(managedresource.UpdateStrategyApply, nil, manage(object))
	b.change(object, "data: {a: x}")
	drift := b.drift(manage(object), resources.DriftOptions{
		DriftSearch: contract.DriftSearch{Correct: always}, Strategy: managedresource.UpdateStrategyApply,
	})
	require.True(t, drift.Corrected)
	require.Equal(t, map[string]string{"a": "1", "b": "2"}, data(b.live(object)))

	b.apply(managedresource.UpdateStrategyApply, nil, manage(b.object(strings.Replace(oneMap, "a: '1', ", "", 1))))
	assert.Equal(t, map[string]string{"b": "2"}, data(b.live(object)))
}

func TestDeletedObjects(t *testing.T) {
	b := newBench(t)
	object := b.object(oneMap)
	b.apply("", nil, manage(object))
	require.NoError(t, platform.Shared(t).Client().Delete(t.Context(), object.DeepCopy()))

	assert.True(t, b.drift(manage(object), resources.DriftOptions{}).Missing)
	assert.False(t, b.exists(object))

	drift := b.drift(manage(object), resources.DriftOptions{DriftSearch: contract.DriftSearch{Correct: always}})
	assert.True(t, drift.Missing && drift.Corrected)
	assert.Equal(t, "1", data(b.live(object))["a"])
	assert.Empty(t, b.drift(manage(object), resources.DriftOptions{}).Fields, "with all marks")
}

func TestAJobThatGoesByItselfIsNotMissing(t *testing.T) {
	b := newBench(t)
	job := b.object(`{apiVersion: batch/v1, kind: Job, metadata: {name: j, namespace: %[1]s}, spec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: example.com/c}]}}}}`)
	assert.False(t, b.drift(manage(job), resources.DriftOptions{DriftSearch: contract.DriftSearch{Correct: always}}).Missing)
	assert.False(t, b.exists(job))
}

func TestTheScaleOfSomebodyElseIsNoDrift(t *testing.T) {
	b := newBench(t)
	object := b.object(webDeployment)
	require.NoError(t, unstructured.SetNestedField(object.Object, int64(1), "spec", "replicas"))
	b.apply("", nil, manage(object))
	b.change(object, "spec: {replicas: 3}", "scale")

	assert.Empty(t, b.drift(manage(object), resources.DriftOptions{}).Fields)
}

func TestWhatWasPatchedAfterDeploymentIsNoDrift(t *testing.T) {
	b := newBench(t)
	desired := manage(b.object(oneMap))
	desired.PatchAfterDeployment = &runtime.RawExtension{Raw: []byte(`{"data": {"a": "patched", "b": null}}`)}
	applied := b.apply("", nil, desired)
	require.NoError(t, resources.PatchAfterDeployment(t.Context(), b.Cluster, []resources.Desired{desired}, applied.Managed))

	assert.Empty(t, b.drift(desired, resources.DriftOptions{}).Fields)
}

func TestAnObjectThatSomebodyTookOverIsNoDrift(t *testing.T) {
	b := newBench(t)
	object := b.object(oneMap)
	b.apply("", nil, manage(object))
	other := &resources.Session{Cluster: b.Cluster, Owner: resources.Owner{Item: "other", Namespace: "other", UID: "other"}}
	taken := b.live(object)
	other.Owner.Mark(taken, managedresource.ManagePolicy)
	taken.Object["data"] = map[string]any{"a": "theirs"}
	require.NoError(t, platform.Shared(t).Client().Update(t.Context(), taken))

	drift := b.drift(manage(object), resources.DriftOptions{DriftSearch: contract.DriftSearch{Correct: always}})

	assert.False(t, drift.IsDrifted())
}

func TestDriftNamesWhoChangedTheObject(t *testing.T) {
	b := newBench(t)
	object := b.object(oneMap)
	b.apply("", nil, manage(object))
	merge := crclient.RawPatch("application/merge-patch+json", []byte(`{"data":{"a":"x"}}`))
	require.NoError(t, platform.Shared(t).Client().Patch(t.Context(), object.DeepCopy(), merge, crclient.FieldOwner("kubectl-edit")))

	assert.Equal(t, "kubectl-edit", b.drift(manage(object), resources.DriftOptions{}).Manager)
}

func TestDriftOfManyObjectsIsFoundOneByOne(t *testing.T) {
	b := newBench(t)
	var desired []resources.Desired
	for i := range 3 {
		desired = append(desired, manage(b.configMap(fmt.Sprintf("o%d", i), "a", "1")))
	}
	b.apply("", nil, desired...)
	b.change(desired[1].Object, "data: {a: x}")
	b.sent()

	found, err := resources.FindDrift(t.Context(), b.Session, desired, resources.DriftOptions{DriftSearch: contract.DriftSearch{Objects: []managedresource.ResourceReference{resources.ReferenceTo(desired[1].Object)}}})

	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, []string{"GET", "PATCH"}, b.sent(), "other objects cost nothing")
}

func TestWhatTheDeployerOwns(t *testing.T) {
	for name, tc := range map[string]struct {
		manifest, before string
		want             bool
	}{
		"made by the deployer":         {oneMap, "", true},
		"Secret":                       {oneSecret, "", true},
		"with a map that is one value": {webDeployment, "", false},
		"found with other values":      {oneMap, `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: {a: x}}`, true},
		"found without managedFields":  {oneMap, `{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}}`, false},
		"found with the same values":   {oneMap, oneMap, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if tc.before != "" {
				b.put(b.object(tc.before))
			}
			object := b.object(tc.manifest)
			b.apply("", nil, manage(object))

			drift := b.drift(manage(object), resources.DriftOptions{})
			assert.Equal(t, tc.want, drift.Owned, "%v", b.live(object).GetManagedFields())
		})
	}
}

func TestTheRulesOfAnAggregatedRoleAreTheControlPlanes(t *testing.T) {
	for _, strategy := range []managedresource.UpdateStrategy{"update", "patch", "mergeOverwrite", "apply"} {
		t.Run(string(strategy), func(t *testing.T) {
			b := newBench(t)
			role := func(text string) resources.Desired {
				raw, err := b.object(text).MarshalJSON()
				require.NoError(t, err)
				desired, err := resources.Expand([]managedresource.Manifest{{Manifest: &runtime.RawExtension{Raw: raw}}})
				require.NoError(t, err)
				return desired[0]
			}
			const all = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "%[1]s:all", labels: {v: VERSION}},
aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: %[1]s}}]}, rules: []}`
			desired := []resources.Desired{role(strings.Replace(all, "VERSION", "one", 1)), role(
				`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: "%[1]s:part", labels: {part-of: %[1]s}},
rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}`)}
			hasRules := func(live *unstructured.Unstructured) bool {
				rules, _, _ := unstructured.NestedSlice(live.Object, "rules")
				return len(rules) == 1
			}
			first := b.apply(strategy, nil, desired...).Managed
			waitFor(t, desired[0].Object, hasRules)

			found := b.drift(desired[0], resources.DriftOptions{Strategy: strategy, DriftSearch: contract.DriftSearch{Correct: always}})
			assert.False(t, found.IsDrifted(), "%v", found.Fields)
			desired[0] = role(strings.Replace(all, "VERSION", "two", 1))
			for _, subject := range b.apply(strategy, first, desired...).Subjects {
				assert.True(t, hasRules(subject.Live), "as it was written, before the control plane has seen it")
			}
		})
	}
}
