// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package exports

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestExportsTooLargeForASecret(t *testing.T) {
	_, err := exportSecret(&v1alpha1.DeployItem{}, map[string]any{"a": strings.Repeat("x", maxExports)})
	assert.ErrorContains(t, err, "export less")
}
