// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func TestDocumentsThatNeedTooMuchMemoryAreRefused(t *testing.T) {
	const head = "meta: {schemaVersion: v2}\ncomponent: {name: a, version: '1'}\n"
	for name, text := range map[string]string{
		"laughs":             head + "a: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [" + strings.Repeat("*a, ", 200) + "x]\nc: &c [" + strings.Repeat("*b, ", 200) + "x]\nd: [" + strings.Repeat("*c, ", 200) + "x]",
		"one long text":      head + "a: &a " + strings.Repeat("x", 1<<20) + "\nb: [" + strings.Repeat("*a, ", 100) + "x]",
		"an alias of itself": head + "a: &a [*a, *a]",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := component.Decode([]byte(text))
			assert.ErrorContains(t, err, "the document has more than")
		})
	}
}

func TestFewAliasesAreFine(t *testing.T) {
	d := decode(t, `
meta: {schemaVersion: v2}
component:
  name: example.com/a
  version: &version 1.0.0
  resources: [{name: r, type: t, version: *version, access: {type: none}}]
`)
	assert.Equal(t, "1.0.0", d.Resources[0].Version)
}

func TestLargeDocumentsAreReadInParallelCalls(t *testing.T) {
	text := []byte("meta: {schemaVersion: v2}\ncomponent: {name: a, version: '1', provider: " + strings.Repeat("p", 300<<10) + "}")
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			_, err := component.Decode(text)
			assert.NoError(t, err)
		})
	}
	group.Wait()
	_, err := component.Decode(text[:len(text)-1])
	require.Error(t, err)
	decode(t, string(text))
}

func TestShortValuesWeighWhatTheyTakeDecoded(t *testing.T) {
	text := "meta: {schemaVersion: v2}\ncomponent: {name: a, version: '1', labels: [{name: l, value: [" + strings.Repeat("0,", 10_000) + "0]}]}"
	assert.Greater(t, decode(t, text).Weight(), int64(10*len(text)))
}
