// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"testing"

	"github.com/stretchr/testify/assert"
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestWhichItemsADeployerServes(t *testing.T) {
	inside := []v1alpha1.TargetSelector{{Labels: []v1alpha1.Requirement{{Key: "zone", Operator: "=", Values: []string{"inside"}}}}}
	unknown := []v1alpha1.TargetSelector{{Labels: []v1alpha1.Requirement{{Key: "zone", Operator: "~"}}}}
	at := func(zone string) *v1alpha1.Target {
		target := &v1alpha1.Target{}
		target.Labels = map[string]string{"zone": zone}
		return target
	}
	for name, tc := range map[string]struct {
		claim  DeployerClaim
		target *v1alpha1.Target
		named  bool
		serves bool
	}{
		"its type":                       {DeployerClaim{Types: []string{"other", "type"}}, nil, false, true},
		"another type":                   {DeployerClaim{Types: []string{"other"}}, nil, false, false},
		"its namespace":                  {DeployerClaim{Types: []string{"type"}, Namespaces: []string{"n"}}, nil, false, true},
		"another namespace":              {DeployerClaim{Types: []string{"type"}, Namespaces: []string{"m"}}, nil, false, false},
		"its labels":                     {DeployerClaim{Types: []string{"type"}, LabelSelector: "shard=1"}, nil, false, true},
		"other labels":                   {DeployerClaim{Types: []string{"type"}, LabelSelector: "shard=2"}, nil, false, false},
		"labels that nobody can read":    {DeployerClaim{Types: []string{"type"}, LabelSelector: "=="}, nil, false, false},
		"no Target, where it wants one":  {DeployerClaim{Types: []string{"type"}, TargetsOnly: true}, nil, false, false},
		"its Target":                     {DeployerClaim{Types: []string{"type"}, TargetSelectors: inside}, at("inside"), true, true},
		"another Target":                 {DeployerClaim{Types: []string{"type"}, TargetSelectors: inside}, at("outside"), true, false},
		"a Target that does not exist":   {DeployerClaim{Types: []string{"type"}, TargetSelectors: inside}, nil, true, false},
		"an unknown operator":            {DeployerClaim{Types: []string{"type"}, TargetSelectors: unknown}, at("inside"), true, false},
		"any Target":                     {DeployerClaim{Types: []string{"type"}}, at("outside"), true, true},
		"any Target, with another label": {DeployerClaim{Types: []string{"type"}, LabelSelector: "shard=2"}, at("outside"), true, false},
	} {
		t.Run(name, func(t *testing.T) {
			item := &v1alpha1.DeployItem{}
			item.Namespace, item.Spec.Type, item.Labels = "n", "type", map[string]string{"shard": "1"}
			if tc.named {
				item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "cluster"}
			}
			assert.Equal(t, tc.serves, tc.claim.Serves(item, tc.target))
		})
	}
}

func TestALeaseThatSaysNothingUsable(t *testing.T) {
	for _, text := range []string{"", "[", `{"types":1}`} {
		lease := &coordinationv1.Lease{}
		lease.Namespace, lease.Name = "n", "l"
		lease.Annotations = map[string]string{v1alpha1.DeployerServesAnnotation: text}
		_, err := DeployerClaimOf(lease)
		assert.ErrorContains(t, err, "annotation landscaper.gardener.cloud/deployer-serves of Lease n/l", text)
	}
}

func FuzzClaimOf(f *testing.F) {
	f.Add(`{"types":["a"],"targetSelectors":[{"labels":[{"key":"a","operator":"in","values":["b"]}]}],"labelSelector":"a=b"}`)
	f.Add(`{"types":[""],"targetSelectors":[{"labels":[{"key":"a","operator":"~"}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		lease := &coordinationv1.Lease{}
		lease.Annotations = map[string]string{v1alpha1.DeployerServesAnnotation: text}
		claim, err := DeployerClaimOf(lease)
		if err == nil {
			item := &v1alpha1.DeployItem{}
			item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "cluster"}
			claim.Serves(item, &v1alpha1.Target{})
		}
	})
}
