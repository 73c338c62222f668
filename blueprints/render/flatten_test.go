// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
)

// A blueprint may have some thousand imports, each below another: what is listed must not be copied again at each level.
func TestFlattenTakesTimeForEachImportOnce(t *testing.T) {
	const deep = 2000
	imports := []model.ImportDefinition{{Name: "second"}}
	for range deep {
		imports = []model.ImportDefinition{{Name: "first", ConditionalImports: imports}}
	}
	assert.Len(t, Flatten(imports), deep+1)
	assert.Less(t, testing.AllocsPerRun(1, func() { Flatten(imports) }), 100.0)
	wide := []model.ImportDefinition{{Name: "a", ConditionalImports: []model.ImportDefinition{{Name: "b"}}}, {Name: "c"}}
	var names []string
	for _, d := range Flatten(wide) {
		names = append(names, d.Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
}
