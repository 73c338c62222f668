// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func TestWordsInDescriptorsAreTexts(t *testing.T) {
	for _, word := range []string{"n", "y", "no", "yes", "on", "off", "Off"} {
		for _, head := range []string{
			"meta: {schemaVersion: v2}\ncomponent:\n  provider: me\n", "apiVersion: " + component.SchemaV3 + "\nmetadata:\n  provider: {name: me}\n",
		} {
			d, err := component.Decode([]byte(head + "  name: example.com/a\n  version: 1.0.0\n  labels: [{name: a, value: " + word + "}]\n"))
			require.NoError(t, err)
			assert.Equal(t, word, d.Labels[0].Value)
			encoded, err := d.Encode(d.Schema)
			require.NoError(t, err)
			again, err := component.Decode(encoded)
			require.NoError(t, err)
			assert.Equal(t, word, again.Labels[0].Value)
		}
	}
}
