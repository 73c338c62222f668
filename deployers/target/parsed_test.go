// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

func selfAs(name string) []byte {
	return fmt.Appendf(nil, `{"selfConfig": {"serviceAccount": {"name": %q}}}`, name)
}

func TestAContentIsReadOnce(t *testing.T) {
	r := newParsedContents(memory.New(0))
	first, err := r.of("tenant", selfAs("one"))
	require.NoError(t, err)
	again, err := r.of("tenant", selfAs("one"))
	require.NoError(t, err)
	assert.Same(t, first, again)
}

func TestContentsDoNotStandForEachOther(t *testing.T) {
	r := newParsedContents(memory.New(0))
	for _, name := range []string{"one", "two", "three", "one"} {
		parsed, err := r.of("tenant", selfAs(name))
		require.NoError(t, err)
		assert.Equal(t, name, parsed.self.ServiceAccount.Name)
	}
	assert.Equal(t, 3, r.known.Len())
}

func TestContentsThatOneTenantWritesPushOutThoseOfNobodyElse(t *testing.T) {
	budget := memory.New(1 << 20)
	r := newParsedContents(budget)
	kept, err := r.of("neighbour", selfAs("kept"))
	require.NoError(t, err)
	for i := range 20 {
		large, err := r.of("hostile", append(selfAs(fmt.Sprint("one-", i)), strings.Repeat(" ", 100<<10)...))
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprint("one-", i), large.self.ServiceAccount.Name)
	}
	assert.LessOrEqual(t, budget.Weight(), int64(1<<20))
	again, err := r.of("neighbour", selfAs("kept"))
	require.NoError(t, err)
	assert.Same(t, kept, again)
}

func TestABrokenContentIsRefusedEachTime(t *testing.T) {
	r := newParsedContents(memory.New(0))
	for range 2 {
		_, err := r.of("tenant", []byte("["))
		require.ErrorContains(t, err, "the content")
	}
	assert.Zero(t, r.known.Len())
}
