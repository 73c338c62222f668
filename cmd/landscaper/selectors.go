// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// parseSelectors reads the values of --target-selector.
func parseSelectors(texts []string) ([]v1alpha1.TargetSelector, error) {
	var selectors []v1alpha1.TargetSelector
	for _, text := range texts {
		var selector v1alpha1.TargetSelector
		if err := yaml.UnmarshalStrict([]byte(text), &selector); err != nil {
			return nil, fmt.Errorf("--target-selector %q: %w", text, err)
		}
		if len(selector.Targets)+len(selector.Annotations)+len(selector.Labels) == 0 {
			return nil, fmt.Errorf("--target-selector %q selects every Target; give targets, annotations or labels, or leave the flag out", text)
		}
		selectors = append(selectors, selector)
	}
	return selectors, nil
}
