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
	r := newParsedContents(0)
	first, err := r.of(selfAs("one"))
	require.NoError(t, err)
	again, err := r.of(selfAs("one"))
	require.NoError(t, err)
	assert.Same(t, first, again)
}

func TestContentsDoNotStandForEachOther(t *testing.T) {
	r := newParsedContents(0)
	for _, name := range []string{"one", "two", "three", "one"} {
		parsed, err := r.of(selfAs(name))
		require.NoError(t, err)
		assert.Equal(t, name, parsed.self.ServiceAccount.Name)
	}
	assert.Equal(t, 3, r.known.Len())
}

func TestABrokenContentIsRefusedEachTime(t *testing.T) {
	r := newParsedContents(0)
	for range 2 {
		_, err := r.of([]byte("["))
		require.ErrorContains(t, err, "the content")
	}
	assert.Zero(t, r.known.Len())
}
