// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestReasonsToWaitAreBounded(t *testing.T) {
	var progress Progress
	for range namedInWaiting + 1 {
		progress.Wait(strings.Repeat("x", 1<<20))
	}
	assert.LessOrEqual(t, len(progress.Waiting()), (namedInWaiting+1)*MaxReason)
	assert.True(t, strings.HasSuffix(progress.Waiting(), "; and more"))
}
