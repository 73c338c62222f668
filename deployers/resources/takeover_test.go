// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

func updateBy(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func setOf(t *testing.T, fields []byte) *fieldpath.Set {
	t.Helper()
	set := &fieldpath.Set{}
	require.NoError(t, set.FromJSON(bytes.NewReader(fields)))
	return set
}

// TestATakeoverHasTheFieldsOfAll compares with the sets of the API server.
func TestATakeoverHasTheFieldsOfAll(t *testing.T) {
	for name, tc := range map[string]struct{ earlier, applied string }{
		"the same":                 {`{"f:data":{"f:a":{}}}`, `{"f:data":{"f:a":{}}}`},
		"beside each other":        {`{"f:data":{"f:a":{}}}`, `{"f:data":{"f:b":{}}}`},
		"none yet":                 {`{"f:data":{".":{},"f:a":{}}}`, `{}`},
		"none earlier":             {`{}`, `{"f:data":{"f:a":{}}}`},
		"one value and its fields": {`{"f:data":{}}`, `{"f:data":{"f:b":{}}}`},
		"its fields and one value": {`{"f:data":{"f:b":{}}}`, `{"f:data":{}}`},
		"a map by itself":          {`{"f:data":{".":{},"f:b":{}}}`, `{"f:data":{"f:b":{}}}`},
		"a map by itself only":     {`{"f:data":{".":{}}}`, `{"f:data":{}}`},
		"items of lists": {`{"f:l":{"k:{\"id\":\"a<b\"}":{".":{},"f:id":{}},"v:1":{}}}`,
			`{"f:l":{"k:{\"id\":\"a<b\"}":{"f:x":{}},"k:{\"id\":\"c\"}":{},"v:\"x\"":{},"i:3":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			applied := updateBy(FieldManager, tc.applied)
			applied.Operation = metav1.ManagedFieldsOperationApply
			live := &unstructured.Unstructured{Object: map[string]any{}}
			live.SetManagedFields([]metav1.ManagedFieldsEntry{updateBy("other", `{"f:x":{}}`), updateBy("kubectl-edit", tc.earlier), applied})
			moved, err := takeoverOf(live, false)
			require.NoError(t, err)
			require.Len(t, moved, 2, "of others and of the apply")
			want := setOf(t, []byte(tc.earlier)).Union(setOf(t, []byte(tc.applied)))
			assert.True(t, want.Equals(setOf(t, moved[1].FieldsV1.GetRawBytes())), "%s", moved[1].FieldsV1.GetRawBytes())
		})
	}
}

func TestATakeoverOfNonsenseIsAnError(t *testing.T) {
	live := &unstructured.Unstructured{Object: map[string]any{}}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{updateBy("kubectl-edit", `["f:data"]`)})
	_, err := takeoverOf(live, false)
	require.ErrorContains(t, err, "cannot read the managed fields of kubectl-edit")
}
