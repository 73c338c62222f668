// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestMerged(t *testing.T) {
	for name, test := range map[string]struct {
		live, manifest, filled, overwritten string
	}{
		"missing":        {live: "{kind: A}", manifest: "{kind: A, a: 1}", filled: "{kind: A, a: 1}", overwritten: "{kind: A, a: 1}"},
		"empty string":   {live: "{kind: A, a: ''}", manifest: "{kind: A, a: x}", filled: "{kind: A, a: x}", overwritten: "{kind: A, a: x}"},
		"zero":           {live: "{kind: A, a: 0}", manifest: "{kind: A, a: 1}", filled: "{kind: A, a: 1}", overwritten: "{kind: A, a: 1}"},
		"false":          {live: "{kind: A, a: false}", manifest: "{kind: A, a: true}", filled: "{kind: A, a: true}", overwritten: "{kind: A, a: true}"},
		"null":           {live: "{kind: A, a: null}", manifest: "{kind: A, a: 1}", filled: "{kind: A, a: 1}", overwritten: "{kind: A, a: 1}"},
		"empty list":     {live: "{kind: A, a: []}", manifest: "{kind: A, a: [1]}", filled: "{kind: A, a: [1]}", overwritten: "{kind: A, a: [1]}"},
		"value":          {live: "{kind: A, a: 1}", manifest: "{kind: A, a: 2}", filled: "{kind: A, a: 1}", overwritten: "{kind: A, a: 2}"},
		"list":           {live: "{kind: A, a: [1]}", manifest: "{kind: A, a: [2]}", filled: "{kind: A, a: [1]}", overwritten: "{kind: A, a: [2]}"},
		"deep":           {live: "{kind: A, a: {b: 1, c: {}}}", manifest: "{kind: A, a: {b: 2, c: {d: 3}}}", filled: "{kind: A, a: {b: 1, c: {d: 3}}}", overwritten: "{kind: A, a: {b: 2, c: {d: 3}}}"},
		"map for value":  {live: "{kind: A, a: 1}", manifest: "{kind: A, a: {b: 2}}", filled: "{kind: A, a: 1}", overwritten: "{kind: A, a: {b: 2}}"},
		"emptied":        {live: "{kind: A, a: 1}", manifest: "{kind: A, a: ''}", filled: "{kind: A, a: 1}", overwritten: "{kind: A, a: ''}"},
		"kept otherwise": {live: "{kind: A, a: 1, b: 2}", manifest: "{kind: A}", filled: "{kind: A, a: 1, b: 2}", overwritten: "{kind: A, a: 1, b: 2}"},
		"version":        {live: "{kind: A, metadata: {resourceVersion: '1'}}", manifest: "{kind: A, metadata: {resourceVersion: '2'}}", filled: "{kind: A, metadata: {resourceVersion: '1'}}", overwritten: "{kind: A, metadata: {resourceVersion: '1'}}"},
	} {
		t.Run(name, func(t *testing.T) {
			live, manifest := parse(t, test.live), parse(t, test.manifest)
			assert.Equal(t, parse(t, test.filled), mergedWith(manifest, live, false))
			assert.Equal(t, parse(t, test.overwritten), mergedWith(manifest, live, true))
			assert.Equal(t, parse(t, test.live), live, "the live object is not changed")
		})
	}
}

func TestReplacement(t *testing.T) {
	const live = "metadata: {resourceVersion: '7', finalizers: [f], ownerReferences: [{name: o}]}"
	const kept = "metadata: {resourceVersion: '7', finalizers: [f], ownerReferences: [{name: o}]}"
	for name, test := range map[string]struct{ live, manifest, want string }{
		"nothing else is copied": {live: "{kind: A, spec: {a: 1}, metadata: {resourceVersion: '7', labels: {a: b}}}", manifest: "{kind: A}", want: "{kind: A, metadata: {resourceVersion: '7'}}"},
		"finalizers and owners":  {live: "{kind: A, " + live + "}", manifest: "{kind: A}", want: "{kind: A, " + kept + "}"},
		"own finalizers":         {live: "{kind: A, metadata: {resourceVersion: '7', finalizers: [f]}}", manifest: "{kind: A, metadata: {finalizers: [g]}}", want: "{kind: A, metadata: {resourceVersion: '7', finalizers: [g]}}"},
		"service":                {live: "{apiVersion: v1, kind: Service, metadata: {resourceVersion: '7'}, spec: {clusterIP: 10.0.0.1, a: b}}", manifest: "{apiVersion: v1, kind: Service, spec: {clusterIP: other}}", want: "{apiVersion: v1, kind: Service, metadata: {resourceVersion: '7'}, spec: {clusterIP: 10.0.0.1}}"},
		"service of a CRD":       {live: "{apiVersion: x/v1, kind: Service, metadata: {resourceVersion: '7'}, spec: {clusterIP: 10.0.0.1}}", manifest: "{apiVersion: x/v1, kind: Service}", want: "{apiVersion: x/v1, kind: Service, metadata: {resourceVersion: '7'}}"},
		"job":                    {live: "{apiVersion: batch/v1, kind: Job, metadata: {resourceVersion: '7'}, spec: {selector: {a: b}, template: {metadata: {labels: {c: d}}}}}", manifest: "{apiVersion: batch/v1, kind: Job, spec: {x: y}}", want: "{apiVersion: batch/v1, kind: Job, metadata: {resourceVersion: '7'}, spec: {x: y, selector: {a: b}, template: {metadata: {labels: {c: d}}}}}"},
		"account without":        {live: "{apiVersion: v1, kind: ServiceAccount, metadata: {resourceVersion: '7'}, secrets: [{name: a}]}", manifest: "{apiVersion: v1, kind: ServiceAccount}", want: "{apiVersion: v1, kind: ServiceAccount, metadata: {resourceVersion: '7'}, secrets: [{name: a}]}"},
		"account with secrets":   {live: "{apiVersion: v1, kind: ServiceAccount, metadata: {resourceVersion: '7'}, secrets: [{name: a}]}", manifest: "{apiVersion: v1, kind: ServiceAccount, secrets: [{name: b}]}", want: "{apiVersion: v1, kind: ServiceAccount, metadata: {resourceVersion: '7'}, secrets: [{name: b}]}"},
		"aggregated role":        {live: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {resourceVersion: '7'}, rules: [{verbs: [get]}]}", manifest: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, aggregationRule: {a: b}}", want: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {resourceVersion: '7'}, aggregationRule: {a: b}, rules: [{verbs: [get]}]}"},
		"role with rules":        {live: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {resourceVersion: '7'}, rules: [{verbs: [get]}]}", manifest: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: []}", want: "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {resourceVersion: '7'}, rules: []}"},
		"annotation of create":   {live: "{kind: A, metadata: {resourceVersion: '7', annotations: {once: x, other: z}}}", manifest: "{kind: A}", want: "{kind: A, metadata: {resourceVersion: '7', annotations: {once: x}}}"},
		"broken spec":            {live: "{apiVersion: v1, kind: Service, metadata: {resourceVersion: '7'}, spec: {clusterIP: 10.0.0.1}}", manifest: "{apiVersion: v1, kind: Service, spec: 7}", want: "{apiVersion: v1, kind: Service, metadata: {resourceVersion: '7'}, spec: 7}"},
	} {
		t.Run(name, func(t *testing.T) {
			got := replacement(parse(t, test.manifest), parse(t, test.live), map[string]string{"once": "z"})
			assert.Equal(t, parse(t, test.want), got)
		})
	}
}

func TestDifference(t *testing.T) {
	live := parse(t, "{kind: A, metadata: {name: a, uid: u, resourceVersion: '7', managedFields: [{}], labels: {a: b}}, spec: {a: 1, b: 2}, status: {c: 3}}")
	next := parse(t, "{kind: A, metadata: {name: a, labels: {a: c}}, spec: {a: 1, d: 4}}")
	patch, err := difference(live, next)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"a": "c"}}, "spec": map[string]any{"b": nil, "d": int64(4)},
	}, patch)
}

func TestSame(t *testing.T) {
	live := "{kind: A, metadata: {name: a, uid: u, resourceVersion: '7', generation: 2, creationTimestamp: x}, a: 1, status: {b: 2}}"
	for manifest, equal := range map[string]bool{
		"{kind: A, metadata: {name: a}, a: 1}":                                      true,
		"{kind: A, metadata: {name: a, labels: {}, creationTimestamp: null}, a: 1}": true,
		"{kind: A, metadata: {name: a}, a: 1, status: {b: 2}}":                      true,
		"{kind: A, metadata: {name: a}, a: 1, status: {b: 3}}":                      false,
		"{kind: A, metadata: {name: a}, a: 2}":                                      false,
		"{kind: A, metadata: {name: a}}":                                            false,
		"{kind: A, metadata: {name: a, labels: {x: y}}, a: 1}":                      false,
	} {
		t.Run(manifest, func(t *testing.T) {
			object := parse(t, manifest)
			assert.Equal(t, equal, sameContent(object, parse(t, live)))
		})
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("{kind: A, a: {b: 1}}", "{kind: A, a: {b: 2, c: []}}")
	f.Fuzz(func(t *testing.T, live, manifest string) {
		a, b := &unstructured.Unstructured{}, &unstructured.Unstructured{}
		if yaml.Unmarshal([]byte(live), &a.Object) != nil || yaml.Unmarshal([]byte(manifest), &b.Object) != nil || a.Object == nil || b.Object == nil {
			return
		}
		once := mergedWith(b, a, true)
		require.Equal(t, once, mergedWith(b, once, true), "merging again changes nothing")
	})
}
