// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func loadIndex(t *testing.T, raw string) *Index {
	t.Helper()
	e := newIndexes()
	index, err := e.Load(t.Context(), "n", []byte(raw))
	require.NoError(t, err)
	return index
}

func TestD10RangesOfVersions(t *testing.T) {
	index := loadIndex(t, `entries:
  hello:
  - {version: 2.0.0-rc.1, urls: [rc.tgz]}
  - {version: v1.2.0, urls: [v1.2.0.tgz]}
  - {version: 1.10.0, urls: [1.10.0.tgz]}
  - {version: 1.11.0, urls: []}
  - {version: nonsense, urls: [nonsense.tgz]}
  - {version: 0.9.0, urls: [0.9.0.tgz]}
  - {version: 0.8.0+up3.4.9, urls: [a.tgz]}
  - {version: 0.8.0+up3.4.10, urls: [b.tgz]}
`)
	for wanted, want := range map[string]string{
		"1.2.0": "v1.2.0", "v1.10.0": "1.10.0", "nonsense": "nonsense",
		"1.x": "1.10.0", "^1.2": "1.10.0", "~1.2": "v1.2.0", "*": "1.10.0", ">=1.0.0-0": "2.0.0-rc.1", "<1": "0.9.0",
		"0.8.0": "0.8.0+up3.4.10", "~0.8": "0.8.0+up3.4.10", "0.8.0+up3.4.9": "0.8.0+up3.4.9",
		"2.x": "", "1.11.0": "", "1.3.0": "", "not a range": "",
	} {
		t.Run(wanted, func(t *testing.T) {
			found := index.Find("hello", wanted)
			if want == "" {
				assert.Nil(t, found)
				return
			}
			require.NotNil(t, found)
			assert.Equal(t, want, found.Version)
		})
	}
	assert.Nil(t, index.Find("other", "*"))
	assert.False(t, index.Has("other"))
}

func TestD10AnIndexIsParsedOnce(t *testing.T) {
	e := newIndexes()
	raw := []byte("entries: {a: [{version: 1.0.0, urls: [a.tgz]}]}")
	first, err := e.Load(t.Context(), "n", raw)
	require.NoError(t, err)
	again, err := e.Load(t.Context(), "n", raw)
	require.NoError(t, err)
	assert.Same(t, first, again)
	cached, ok := e.Cached("n", first.Digest)
	require.True(t, ok)
	assert.Same(t, first, cached)
}

func TestD10IndexesAreWeighedInBytes(t *testing.T) {
	e := newIndexes()
	var first *Index
	for i := range 3 {
		location := strings.Repeat("x", cacheSize/2)
		index, err := e.Load(t.Context(), "n", fmt.Appendf(nil, "entries: {a: [{version: 1.0.%d, urls: [%s]}]}", i, location))
		require.NoError(t, err)
		if first == nil {
			first = index
		}
		assert.Greater(t, sizeOfEntries(index.entries), int64(len(location)))
	}
	_, ok := e.Cached("n", first.Digest)
	assert.False(t, ok, "the oldest gave way")
}

func TestTheLastIndexIsKeptWhateverItsSize(t *testing.T) {
	e := newIndexes()
	index, err := e.Load(t.Context(), "n", fmt.Appendf(nil, "entries: {a: [{version: 1.0.0, urls: [%s]}]}", strings.Repeat("x", cacheSize)))
	require.NoError(t, err)
	cached, ok := e.Cached("n", index.Digest)
	assert.True(t, ok)
	assert.Same(t, index, cached)
}

func TestIsVersion(t *testing.T) {
	for text, want := range map[string]bool{
		"1.0.0": true, "v1.0.0-rc.1+build": true, "latest": true, "1.x": false, "1.0": false, ">=1": false, "*": false,
	} {
		assert.Equal(t, want, IsVersion(text), text)
	}
}

func FuzzLoadIndex(f *testing.F) {
	f.Add([]byte("entries: {a: [{version: 1.0.0, urls: [a.tgz]}]}"), "1.0.0")
	f.Add([]byte("entries: {a: [{version: 1.0.0, urls: [a.tgz]}]}"), ">=1 <2")
	f.Add([]byte("entries: {a: null}"), "*")
	f.Add([]byte("&a [*a]"), "")
	e := newIndexes()
	f.Fuzz(func(t *testing.T, raw []byte, version string) {
		index, err := e.Load(t.Context(), "n", raw)
		if err != nil {
			return
		}
		if entry := index.Find("a", version); entry != nil {
			assert.NotEmpty(t, entry.URLs)
		}
	})
}
