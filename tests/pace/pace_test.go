// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pace

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWithin(t *testing.T) {
	for value, want := range map[string]time.Duration{"": 30 * time.Second, "else": 30 * time.Second, "exact": time.Second} {
		t.Run(value, func(t *testing.T) {
			t.Setenv(setting, value)
			assert.Equal(t, want, Within(time.Second))
		})
	}
}
