// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package liveness lets deployers say by a Lease that they are alive, and which DeployItems they carry out.
package liveness

import (
	"encoding/json"
	"fmt"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Claim says which DeployItems a deployer carries out.
type Claim struct {
	// Deployer is its name, and Identity what it writes into the status of DeployItems.
	Deployer string `json:"deployer"`
	Identity string `json:"identity"`
	// Types are the types of DeployItems.
	Types []string `json:"types"`
	// TargetSelectors select the Targets of its DeployItems; none selects all.
	TargetSelectors []v1alpha1.TargetSelector `json:"targetSelectors,omitempty"`
	// TargetsOnly leaves DeployItems without Target to others.
	TargetsOnly bool `json:"targetsOnly,omitempty"`
	// Namespaces are those that it watches; none means all.
	Namespaces []string `json:"namespaces,omitempty"`
	// LabelSelector selects DeployItems by their labels; empty selects all.
	LabelSelector string `json:"labelSelector,omitempty"`
}

// ClaimOf returns what a Lease says, and an error where that cannot be read.
func ClaimOf(lease *coordinationv1.Lease) (Claim, error) {
	claim := Claim{}
	err := json.Unmarshal([]byte(lease.Annotations[v1alpha1.DeployerServesAnnotation]), &claim)
	if err != nil {
		return claim, fmt.Errorf("annotation %s of Lease %s/%s is not a JSON object with types; let its deployer write it: %w",
			v1alpha1.DeployerServesAnnotation, lease.Namespace, lease.Name, err)
	}
	return claim, nil
}

// Serves reports whether the deployer carries out an item. Its Target is nil where it names none, or one that does not exist.
func (c *Claim) Serves(item *v1alpha1.DeployItem, target *v1alpha1.Target) bool {
	switch {
	case !slices.Contains(c.Types, item.Spec.Type), len(c.Namespaces) > 0 && !slices.Contains(c.Namespaces, item.Namespace):
		return false
	case item.Spec.Target == nil:
		return !c.TargetsOnly && c.selects(item)
	case len(c.TargetSelectors) > 0:
		return target != nil && Selected(c.TargetSelectors, target) && c.selects(item)
	}
	return c.selects(item)
}

func (c *Claim) selects(item *v1alpha1.DeployItem) bool {
	selector, err := labels.Parse(c.LabelSelector)
	return err == nil && selector.Matches(labels.Set(item.Labels))
}
