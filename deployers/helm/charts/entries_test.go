// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func loadIndex(t *testing.T, raw string) index {
	t.Helper()
	index, err := parseIndex([]byte(raw))
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
			found := index.find("hello", wanted)
			if want == "" {
				assert.Nil(t, found)
				return
			}
			require.NotNil(t, found)
			assert.Equal(t, want, found.Version)
		})
	}
	assert.Nil(t, index.find("other", "*"))
}

func TestD10IndexesAreWeighed(t *testing.T) {
	large := strings.Repeat("x", cacheSize)
	assert.Greater(t, loadIndex(t, "entries: {a: [{version: 1.0.0, urls: ["+large[1:cacheSize/2]+"]}]}").size(), int64(cacheSize/2))
	assert.Less(t, loadIndex(t, "entries: {a: [{version: 1.0.0, urls: ["+large+"]}]}").size(), int64(cacheSize), "the last one is kept whatever its size")
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
	f.Fuzz(func(t *testing.T, raw []byte, version string) {
		index, err := parseIndex(raw)
		if err != nil {
			return
		}
		if entry := index.find("a", version); entry != nil {
			assert.NotEmpty(t, entry.URLs)
		}
	})
}
