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

func TestMemoryKnowsOnlyTheSameWriteOnTheSameObject(t *testing.T) {
	next, live := parse(t, "{kind: A, a: 1}"), parse(t, "{kind: A, metadata: {uid: u, resourceVersion: '1'}, a: 1, default: x, status: {}}")
	memory := NewMemory(1)
	memory.remember(next, live)
	later := parse(t, "{kind: A, metadata: {uid: u, resourceVersion: '2', generation: 3}, a: 1, default: x, status: {b: 1}}")
	assert.True(t, memory.unchanged(next, later), "status and versions do not count")
	assert.False(t, memory.unchanged(parse(t, "{kind: A}"), live), "another manifest")
	assert.False(t, memory.unchanged(next, parse(t, "{kind: A, metadata: {uid: u}, a: 1, default: y}")), "changed by somebody")
	assert.False(t, memory.unchanged(next, parse(t, "{kind: A, metadata: {uid: v}, a: 1, default: x}")), "another object")
}

func parse(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	require.NoError(t, err)
	object := &unstructured.Unstructured{}
	require.NoError(t, object.UnmarshalJSON(raw))
	return object
}
