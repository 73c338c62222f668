// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestProblemsOfTemplatesAreBounded(t *testing.T) {
	for name, templates := range map[string][]v1alpha1.DeployItemTemplate{
		"many templates":          make([]v1alpha1.DeployItemTemplate, 10*maxProblems),
		"many unknown dependents": {{Name: "a", Type: "b", DependsOn: make([]string, 10*maxProblems)}},
	} {
		t.Run(name, func(t *testing.T) {
			problems := DeployItemTemplates(templates)
			assert.GreaterOrEqual(t, len(problems), maxProblems)
			assert.Less(t, len(problems), 2*maxProblems)
		})
	}
}
