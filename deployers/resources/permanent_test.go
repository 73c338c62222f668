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
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// limits is a definition whose objects have a number.
const limits = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: limits.%[1]s.example.com}, spec: {group: %[1]s.example.com,
scope: Namespaced, names: {plural: limits, singular: limit, kind: Limit, listKind: LimitList}, versions: [{name: v1, served: true, storage: true,
schema: {openAPIV3Schema: {type: object, properties: {number: {type: integer, maximum: 5}}}}}]}}`

// TestErrorsThatTheSameInputCanOnlyRepeatEndAJob has every kind of error that an object may meet: those that end the job at once say what to correct.
func TestErrorsThatTheSameInputCanOnlyRepeatEndAJob(t *testing.T) {
	const service = `{apiVersion: v1, kind: Service, metadata: {name: NAME, namespace: %[1]s}, spec: {type: NodePort, ports: [{port: 80, nodePort: PORT}]}}`
	for name, tc := range map[string]struct {
		manifests []string
		before    string
		cure      string // of an error that ends the job; empty where another try may help
	}{
		"name with a slash":       {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a/b, namespace: %[1]s}}`}, cure: "may not contain '/', correct it"},
		"name in capitals":        {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: A_b, namespace: %[1]s}}`}, cure: "correct what the manifest"},
		"impossible namespace":    {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: A_b}}`}, cure: "correct it"},
		"label of another type":   {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s, labels: {a: 1}}}`}, cure: "quote the values"},
		"impossible label":        {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s, labels: {a: 'b c'}}}`}, cure: "correct what the manifest"},
		"value of another type":   {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s}, data: {a: 1}}`}, cure: "correct"},
		"what the schema refuses": {manifests: []string{strings.Replace(webDeployment, "name: web, image", "name: Web, image", 1)}, cure: "correct what the manifest"},
		"an object too large":     {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s}, data: {a: ` + strings.Repeat("x", 1100000) + `}}`}, cure: "correct what the manifest"},
		"a request too large":     {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s}, data: {a: ` + strings.Repeat("x", 4<<20) + `}}`}, cure: "make it smaller"},
		"a field that must not change": {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s}, data: {a: '2'}}`},
			before: `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: %[1]s}, data: {a: '1'}, immutable: true}`, cure: "restore the fields"},

		"a kind that may come":      {manifests: []string{`{apiVersion: example.com/v1, kind: Nothing, metadata: {name: a, namespace: %[1]s}}`}},
		"a namespace that may come": {manifests: []string{`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: not-%[1]s}}`}},
		"an account that may come":  {manifests: []string{`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: %[1]s}, spec: {serviceAccountName: none, containers: [{name: a, image: a}]}}`}},
		"a port that may be freed":  {before: strings.Replace(service, "NAME", "one", 1), manifests: []string{strings.Replace(service, "NAME", "two", 1)}},
		"a definition that changes": {manifests: []string{limits, `{apiVersion: %[1]s.example.com/v1, kind: Limit, metadata: {name: a, namespace: %[1]s}, number: 7}`}},
	} {
		for _, strategy := range []managedresource.UpdateStrategy{"update", "apply"} {
			t.Run(name+", "+string(strategy), func(t *testing.T) {
				b := newBench(t)
				port := "null"
				object := func(text string) string { return strings.NewReplacer("%[1]s", b.namespace, "PORT", port).Replace(text) }
				if tc.before != "" {
					ports, _, err := unstructured.NestedSlice(b.put(b.object(object(tc.before))).Object, "spec", "ports")
					require.NoError(t, err)
					if len(ports) > 0 {
						port = fmt.Sprint(ports[0].(map[string]any)["nodePort"]) // the one that the API server gave
					}
				}
				var manifests []managedresource.Manifest
				for _, text := range tc.manifests {
					raw, err := yaml.YAMLToJSON([]byte(object(text)))
					require.NoError(t, err)
					manifests = append(manifests, managedresource.Manifest{Manifest: &runtime.RawExtension{Raw: raw}})
				}
				desired, err := resources.Expand(manifests)
				for attempt := 0; err == nil && attempt < 200; attempt++ {
					var applied resources.Applied
					if applied, err = b.Apply(t.Context(), desired, resources.ApplyOptions{Strategy: strategy}); err != nil || applied.Progress.Done() {
						break
					}
					waitFor(t, desired[0].Object, func(live *unstructured.Unstructured) bool { return resources.HasCondition(live, "Established", "True") })
				}

				require.Error(t, err)
				assert.Equal(t, tc.cure != "", protocol.IsUnrecoverable(err), "%v", err)
				assert.ErrorContains(t, err, tc.cure)
				assert.Less(t, len(err.Error()), 4096)
			})
		}
	}
}
