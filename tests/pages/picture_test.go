// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pages

import (
	"encoding/xml"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAPictureHoldsItsText(t *testing.T) {
	const text = "$ flux-landscaper tree\nOBJECT  STATE\n✗ a      Failed\n│    <no value> & \"more\"\n\n✔ b\n"

	svg := Picture(text)

	assert.NoError(t, xml.Unmarshal([]byte(svg), new(struct{})))
	assert.Equal(t, text, Drawn(svg))
	assert.Contains(t, svg, `<tspan fill="#f85149">✗</tspan> a`)
	assert.Contains(t, svg, `<tspan fill="#3fb950">✔</tspan> b`)
}
