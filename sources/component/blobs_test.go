// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"
)

// breaking panics when a file is opened.
type breaking struct{}

func (breaking) Open(string) (fs.File, error) { panic("broken") }

func TestAPanicOverADirectoryIsAnErrorOfItsReader(t *testing.T) {
	reader, err := tarOf(breaking{}, "a")
	require.NoError(t, err)
	_, err = io.ReadAll(reader)
	require.ErrorContains(t, err, "it broke off by a panic: a value of type string in ")
}
