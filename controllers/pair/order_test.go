// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDeadlocks(t *testing.T) {
	const circle = "; let one of them be installed with type landscaper.gardener.cloud/helm"
	tests := map[string]struct {
		deployers []Deployer
		wants     map[string]string
	}{
		"none": {},
		"all by the given type": {deployers: []Deployer{
			{Name: "a", Serves: []string{"a"}, Needs: []string{"helm"}}, {Name: "b", Needs: []string{"helm"}},
		}},
		"nothing is known yet": {deployers: []Deployer{{Name: "a", Serves: []string{"a"}}}},
		"a chain in any order": {deployers: []Deployer{
			{Name: "c", Serves: []string{"c"}, Needs: []string{"b", "helm"}}, {Name: "b", Serves: []string{"b"}, Needs: []string{"a"}},
			{Name: "a", Serves: []string{"a"}, Needs: []string{"helm"}},
		}},
		"one of two that serve a type": {deployers: []Deployer{
			{Name: "a", Serves: []string{"x"}, Needs: []string{"y"}}, {Name: "b", Serves: []string{"y"}, Needs: []string{"x"}},
			{Name: "c", Serves: []string{"x"}, Needs: []string{"helm"}},
		}},
		"itself": {deployers: []Deployer{{Name: "a", Serves: []string{"a"}, Needs: []string{"a"}}},
			wants: map[string]string{"a": "a needs type a of a: a circle" + circle}},
		"circle": {
			deployers: []Deployer{
				{Name: "a", Serves: []string{"a"}, Needs: []string{"b"}}, {Name: "b", Serves: []string{"b"}, Needs: []string{"a"}},
				{Name: "c", Serves: []string{"c"}, Needs: []string{"helm"}},
			},
			wants: map[string]string{
				"a": "a needs type b of b, b needs type a of a: a circle" + circle,
				"b": "b needs type a of a, a needs type b of b: a circle" + circle,
			}},
		"way into a circle": {
			deployers: []Deployer{
				{Name: "d", Needs: []string{"helm", "a"}}, {Name: "a", Serves: []string{"a"}, Needs: []string{"a"}},
			},
			wants: map[string]string{
				"a": "a needs type a of a: a circle" + circle,
				"d": "d needs type a of a, a needs type a of a: a circle" + circle,
			}},
		"nobody serves it": {
			deployers: []Deployer{{Name: "a", Needs: []string{"b"}}, {Name: "b", Serves: []string{"b"}, Needs: []string{"none"}}},
			wants: map[string]string{
				"a": "a needs type b of b, b needs type none, which no DeployerRegistration serves; register a deployer for it",
				"b": "b needs type none, which no DeployerRegistration serves; register a deployer for it",
			}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.wants == nil {
				test.wants = map[string]string{}
			}
			assert.Equal(t, test.wants, Deadlocks(test.deployers, "helm"))
		})
	}
}
