// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatIsReadHasRoomBefore(t *testing.T) {
	const limit = 3 * firstPart
	for name, tc := range map[string]struct {
		length int64
		body   int
		want   int
		asked  []int64
	}{
		"known length":         {5, 5, 5, []int64{5}},
		"nothing":              {0, 0, 0, []int64{0}},
		"unknown length":       {-1, firstPart + 1, firstPart + 1, []int64{firstPart, 2 * firstPart}},
		"a part, and no more":  {-1, firstPart, firstPart, []int64{firstPart}},
		"as much as there may": {-1, limit, limit, []int64{firstPart, 2 * firstPart, limit}},
		"less than it says":    {limit, 1, 1, []int64{limit}},
		"more than it says":    {0, 5, 5, []int64{0, firstPart}},
		"more than it may":     {-1, 2 * limit, limit + 1, []int64{firstPart, 2 * firstPart, limit}},
		"more, and says so":    {2 * limit, 2 * limit, limit + 1, []int64{limit}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []int64
			content, err := ReadAll(t.Context(), strings.NewReader(strings.Repeat("x", tc.body)), tc.length, limit,
				func(_ context.Context, bytes int64) error { asked = append(asked, bytes); return nil })
			require.NoError(t, err)
			assert.Len(t, content, tc.want)
			assert.Equal(t, tc.asked, asked)
		})
	}
}

func TestNothingIsReadWithoutRoom(t *testing.T) {
	full := errors.New("full")
	body := strings.NewReader("abc")
	_, err := ReadAll(t.Context(), body, 3, 10, func(context.Context, int64) error { return full })
	require.ErrorIs(t, err, full)
	assert.Equal(t, 3, body.Len())
}

func TestABodyThatBreaksOffIsAnError(t *testing.T) {
	body := io.MultiReader(strings.NewReader("ab"), iotest.ErrReader(io.ErrUnexpectedEOF))
	_, err := ReadAll(t.Context(), body, 3, 10, nil)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}
