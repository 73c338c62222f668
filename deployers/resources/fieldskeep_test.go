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
	"sigs.k8s.io/yaml"
)

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
	"items without their keys": {
		live: "{kind: A, l: [{x: 1}, {id: a}]}", manifest: "{kind: A, l: [{x: 2}, {id: a}]}", want: "{kind: A, l: [{x: 1}, {id: a}, {x: 2}]}",
		managers: map[string]string{FieldManager: `{"f:l":{"k:{\"id\":\"a\"}":{}}}`},
	},
	"items that are wanted twice": {
		live: "{kind: A, l: [{id: a, x: 1}]}", manifest: "{kind: A, l: [{id: a}, {id: a}]}", want: "{kind: A, l: [{id: a, x: 1}, {id: a}]}",
		managers: map[string]string{FieldManager: `{"f:l":{"k:{\"id\":\"a\"}":{}}}`},
	},
	"items with keys of several shapes": {
		live:     "{kind: A, l: [{id: 80, p: UDP, x: 1}, {id: 80, p: TCP, x: 2}, {id: 90, p: TCP, x: 3}]}",
		manifest: "{kind: A, l: [{id: 80, p: UDP}, {id: 80, p: TCP}, {id: 90}]}",
		want:     "{kind: A, l: [{id: 80, p: UDP, x: 1}, {id: 80, p: TCP, x: 2}, {id: 90, p: TCP, x: 3}]}",
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
