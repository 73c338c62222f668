// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
)

// TestObjectsOfManyRevisionsAreAddedOnce has as many revisions as a target can list, with an object each. Where all that was found is copied for each
// of them, that is some terabytes.
func TestObjectsOfManyRevisionsAreAddedOnce(t *testing.T) {
	const many = 30_000
	revisions := make([]*engine.Release, 2*many)
	for i := range revisions { // each object twice
		revisions[i] = &engine.Release{Namespace: "n", Manifest: fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%d}\n", i%many)}
	}
	before := allocated()

	attempted := attemptedIn(revisions, isAny)

	assert.Less(t, allocated()-before, 1<<30)
	require.Len(t, attempted, many)
	assert.Equal(t, "a0", attempted[0].Resource.Name)
	assert.Equal(t, fmt.Sprintf("a%d", many-1), attempted[many-1].Resource.Name)
}

// allocated returns how many bytes were allocated since the process began.
func allocated() int {
	var found runtime.MemStats
	runtime.ReadMemStats(&found)
	return int(found.TotalAlloc) // #nosec G115 -- fits
}
