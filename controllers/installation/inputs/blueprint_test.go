// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// paddedBlueprint is the text of a blueprint in place with so many bytes beside it.
func paddedBlueprint(t *testing.T, n, size int) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"blueprint.yaml": "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n", "data": fmt.Sprint(n) + strings.Repeat("x", size),
	})
	require.NoError(t, err)
	return raw
}

func TestBlueprintsAreBoundedInBytes(t *testing.T) {
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	c := &blueprintCache{}
	for i := range 48 {
		require.NoError(t, c.inline(paddedBlueprint(t, i, 1<<20), "").problem)
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	assert.Less(t, int64(after.HeapAlloc-before.HeapAlloc), int64(24<<20))
	goruntime.KeepAlive(c)
}

func TestEqualBlueprintsOfManyRevisionsAreKeptOnce(t *testing.T) {
	c := &blueprintCache{}
	var first *Blueprint
	for i := range 10 {
		files, err := model.Inline(paddedBlueprint(t, 0, 1<<20))
		require.NoError(t, err)
		found, err := c.artifact(blueprintKey{"artifact", fmt.Sprint("revision-", i), "."}, func() (*Blueprint, error) {
			return load(files, "sha256:equal"), nil
		})
		require.NoError(t, err)
		if first == nil {
			first = found
		}
		require.Same(t, first, found)
	}
}
