// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func selfAs(name string) []byte {
	return fmt.Appendf(nil, `{"selfConfig": {"serviceAccount": {"name": %q}}}`, name)
}

func TestAContentIsReadOnce(t *testing.T) {
	r, err := New(Options{})
	require.NoError(t, err)
	first, err := r.parse(selfAs("one"))
	require.NoError(t, err)
	again, err := r.parse(selfAs("one"))
	require.NoError(t, err)
	assert.Same(t, first, again)
}

func TestContentsDoNotStandForEachOther(t *testing.T) {
	r, err := New(Options{})
	require.NoError(t, err)
	for _, name := range []string{"one", "two", "three", "one"} {
		parsed, err := r.parse(selfAs(name))
		require.NoError(t, err)
		assert.Equal(t, name, parsed.self.ServiceAccount.Name)
	}
	assert.Equal(t, 3, r.parsed.Len())
}

func TestABrokenContentIsRefusedEachTime(t *testing.T) {
	r, err := New(Options{})
	require.NoError(t, err)
	for range 2 {
		_, err := r.parse([]byte("["))
		require.ErrorContains(t, err, "the content")
	}
	assert.Zero(t, r.parsed.Len())
}
