// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
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

func TestTheTypeOfADeployItemStays(t *testing.T) {
	for name, tc := range map[string]struct {
		deployed, before, after string
		problems                int
	}{
		"the same":                       {deployed: "a", before: "a", after: "a"},
		"another one":                    {deployed: "a", before: "a", after: "b", problems: 1},
		"set back past a change":         {deployed: "a", before: "b", after: "a"},
		"changed again":                  {deployed: "a", before: "b", after: "c", problems: 1},
		"not deployed by anybody so far": {before: "a", after: "b", problems: 1},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := &v1alpha1.DeployItem{}, &v1alpha1.DeployItem{}
			before.Spec.Type, after.Spec.Type = tc.before, tc.after
			if tc.deployed != "" {
				before.Status.Deployer = &v1alpha1.DeployerInformation{Type: tc.deployed}
			}
			assert.Len(t, DeployItemUpdate(after, before), tc.problems)
		})
	}
}

func TestCycle(t *testing.T) {
	tests := []struct {
		name  string
		nodes map[string][]string
		want  []string
	}{
		{"none", map[string][]string{"a": {"b"}, "b": nil}, nil},
		{"diamond", map[string][]string{"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": nil}, nil},
		{"unknown dependency", map[string][]string{"a": {"x"}}, nil},
		{"itself", map[string][]string{"a": {"a"}}, []string{"a", "a"}},
		{"two", map[string][]string{"a": {"b"}, "b": {"a"}}, []string{"a", "b", "a"}},
		{"behind a tail", map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}}, []string{"b", "c", "d", "b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.want, Cycle(tt.nodes)) })
	}
}

func TestCycleOfALongChain(t *testing.T) {
	nodes := map[string][]string{}
	for i := range 100000 {
		nodes[fmt.Sprint(i)] = []string{fmt.Sprint((i + 1) % 100000)}
	}
	assert.Len(t, Cycle(nodes), 100001)
}
