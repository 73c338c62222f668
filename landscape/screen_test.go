// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func terminal(out *bytes.Buffer, height int) *Screen {
	return &Screen{Live: true, out: out, size: func() (int, int, error) { return 80, height, nil }}
}

func TestBlockIsReplacedInPlace(t *testing.T) {
	var out bytes.Buffer
	s := terminal(&out, 24)
	s.Show([]string{"one", "two"})
	out.Reset()

	s.Show([]string{"three"})

	assert.Equal(t, "\x1b[2A\r\x1b[J\x1b[?7lthree\n\x1b[?7h", out.String())
}

func TestLinesThatStayStandAboveTheBlock(t *testing.T) {
	var out bytes.Buffer
	s := terminal(&out, 24)
	s.Show([]string{"block"})
	out.Reset()

	s.Say("stays")

	assert.Less(t, strings.Index(out.String(), "stays"), strings.Index(out.String(), "block"))
}

func TestSameBlockIsNotWrittenAgain(t *testing.T) {
	var out bytes.Buffer
	s := terminal(&out, 24)
	s.Show([]string{"block"})
	out.Reset()

	s.Show([]string{"block"})

	assert.Empty(t, out.String())
}

func TestBlockNeverOutgrowsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	s := terminal(&out, 4)

	s.Show([]string{"a", "b", "c", "d", "e"})

	assert.Equal(t, 3, strings.Count(out.String(), "\n"))
	assert.Contains(t, out.String(), "… 3 more lines")
}

func TestPlainOutputHasNoBlock(t *testing.T) {
	var out bytes.Buffer
	s := &Screen{out: &out, size: func() (int, int, error) { return 0, 0, assert.AnError }}

	s.Show([]string{"block"})
	s.Say("line")

	assert.Equal(t, "line\n", out.String())
}
