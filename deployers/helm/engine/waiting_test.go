// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAHookEndsAsItsStatusSays(t *testing.T) {
	for name, tt := range map[string]struct {
		kind   string
		status string
		ended  bool
		says   string
	}{
		"a Job without a status": {kind: jobKind, status: `{}`},
		"a Job at work":          {kind: jobKind, status: `{"conditions":[{"type":"Suspended","status":"True"},{"type":"Complete","status":"False"}]}`},
		"a Job that is complete": {
			kind: jobKind, status: `{"conditions":[{"type":"SuccessCriteriaMet","status":"True"},{"type":"Complete","status":"True"}]}`, ended: true,
		},
		"a Job that failed": {
			kind: jobKind, status: `{"conditions":[{"type":"Failed","status":"True","reason":"DeadlineExceeded"}]}`, ended: true,
			says: "job migrate failed: DeadlineExceeded",
		},
		"a Job of conditions that are no map": {kind: jobKind, status: `{"conditions":[null,"Complete",["Failed"]]}`},
		"a Job of conditions that are no list": {
			kind: jobKind, status: `{"conditions":{"type":"Complete","status":"True"}}`,
		},
		"a Pod without a status": {kind: podKind, status: `{}`},
		"a Pod at work":          {kind: podKind, status: `{"phase":"Running"}`},
		"a Pod that succeeded":   {kind: podKind, status: `{"phase":"Succeeded"}`, ended: true},
		"a Pod that failed":      {kind: podKind, status: `{"phase":"Failed"}`, ended: true, says: "pod migrate failed"},
		"a Pod of no phase":      {kind: podKind, status: `{"phase":["Succeeded"]}`},
		"a status that is none":  {kind: podKind, status: `"Succeeded"`},
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(`{"status":`+tt.status+`,"metadata":{"name":"migrate"}}`), &object))

			ended, err := hookEnded(tt.kind, &unstructured.Unstructured{Object: object})

			assert.Equal(t, tt.ended, ended)
			if tt.says == "" {
				require.NoError(t, err)
				return
			}
			assert.EqualError(t, err, tt.says)
		})
	}
}

func TestAPodWithoutContainersHasNoneThatFailed(t *testing.T) {
	assert.Empty(t, failedContainer(&corev1.Pod{}))
}
