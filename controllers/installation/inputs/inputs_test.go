// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestInputsAreReadIntoTheInstallationThatIsGiven(t *testing.T) {
	inst := fixture.Importing()
	found, err := with(t, fixture.DataObject("1")).Read(t.Context(), inst, 0, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"value": int64(1)}, found.Imports.Values.Data)
	assert.NotNil(t, found.Values)
	assert.Equal(t, found.Imports.Hash(), inst.Status.ImportsHash)
}
