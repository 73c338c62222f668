// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReader(t *testing.T) {
	exceeded := errors.New("too much")
	for name, of := range map[string]func(io.Reader) io.Reader{
		"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "with the end": iotest.DataErrReader,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := io.ReadAll(Reader(of(strings.NewReader("four")), 4, exceeded))
			require.NoError(t, err)
			assert.Equal(t, "four", string(got))
			more := Reader(of(strings.NewReader("fives")), 4, exceeded)
			_, err = io.ReadAll(more)
			require.ErrorIs(t, err, exceeded)
			_, err = more.Read(make([]byte, 1))
			require.ErrorIs(t, err, exceeded, "it stays so")
		})
	}
	broken := errors.New("broken")
	_, err := io.ReadAll(Reader(iotest.ErrReader(broken), 4, exceeded))
	assert.ErrorIs(t, err, broken)
}
