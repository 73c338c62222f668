// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestT03UnreadableTemplatesMakeNoItems(t *testing.T) {
	s := &scope{execution: &v1alpha1.Execution{Undecoded: v1alpha1.Undecoded{"spec.deployItems[0].timeout cannot be read"}}}
	assert.ErrorContains(t, readTemplates(t.Context(), s), "spec.deployItems[0].timeout cannot be read")
	assert.Nil(t, s.templates)
}
