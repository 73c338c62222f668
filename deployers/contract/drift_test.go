// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

func TestDriftModeIn(t *testing.T) {
	for config, want := range map[string]struct {
		mode    managedresource.DriftMode
		problem string
	}{
		`{"other":1}`:                            {managedresource.DriftWarn, ""},
		`{"driftDetection":null}`:                {managedresource.DriftWarn, ""},
		`{"driftDetection":{}}`:                  {managedresource.DriftWarn, ""},
		`{"driftDetection":{"mode":"enabled"}}`:  {managedresource.DriftEnabled, ""},
		`{"driftDetection":{"mode":"on"}}`:       {"", "driftDetection.mode: \"on\" is unknown"},
		`{"driftDetection":{"mode":1}}`:          {"", "driftDetection.mode: is a JSON number"},
		`{"driftDetection":{"mode":"disabled"}}`: {managedresource.DriftDisabled, ""},
	} {
		t.Run(config, func(t *testing.T) {
			detection, err := DriftModeIn(&runtime.RawExtension{Raw: []byte(config)})
			if want.problem != "" {
				require.ErrorContains(t, err, want.problem)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, want.mode, detection.ModeOf())
		})
	}
}

// TestEventsReadNoRulesOfDrift has an expression that nobody can compile: an event does not look at it.
func TestEventsReadNoRulesOfDrift(t *testing.T) {
	raw := `{"driftDetection":{"mode":"enabled","ignore":[{"paths":["/x"],"target":{"name":"("}}]}}`
	detection, err := DriftModeIn(&runtime.RawExtension{Raw: []byte(raw)})
	require.NoError(t, err)
	assert.Equal(t, managedresource.DriftEnabled, detection.ModeOf())
	assert.Empty(t, detection.Ignore)
}
